//! Messages of PyTorch's allocators, of the driver, and of libraries with memory of their own.

use super::failures::before;
use super::scan::{self, Amount, after, first_size, head, number_after, size, size_after, unwrapped};
use super::{Backend, Failure, Host, Kind, Process};

/// The longest message: one with many processes.
const LONGEST: usize = 4000;

/// `… out of memory. Tried to allocate 2.00 GiB …` in all its wordings (`c10/cuda/CUDACachingAllocator.cpp`,
/// `c10/xpu/XPUCachingAllocator.cpp`, `aten/src/ATen/mps/MPSAllocator.mm`, `torch_npu/csrc/core/npu/
/// NPUCachingAllocator.cpp`).
pub(super) fn allocator(text: &str, position: usize) -> Option<Failure> {
    let message = message(text, position);
    let lead = unwrapped(before(text, position, 220));
    let backend = backend(&lead);
    let mut failure = Failure::new(Kind::Torch(backend));
    let behind = message.trim_start_matches("Tried to allocate").trim_start_matches("尝试分配");
    failure.asked = size(behind).map(|(size, _)| size);
    if failure.asked.is_none() && !behind.trim_start().starts_with("more than") {
        return None;
    }
    if backend == Backend::Mps {
        metal(&mut failure, &lead);
    } else if let Some(inside) = parenthesis(&message) {
        old_wording(&mut failure, inside);
    } else {
        new_wording(&mut failure, &message);
    }
    Some(failure)
}

/// The message from here to the next one, on one line.
fn message(text: &str, position: usize) -> String {
    let rest = head(&text[position..], LONGEST);
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let end = ["Tried to allocate ", "尝试分配", "Traceback (most", "\n\n"]
        .iter()
        .filter_map(|next| rest[first..].find(next).map(|at| at + first))
        .min();
    unwrapped(&rest[..end.unwrap_or(rest.len())])
}

/// Whose message these words introduce: the last that is named.
fn backend(lead: &str) -> Backend {
    const NAMES: [(&str, Backend); 11] = [
        ("CUDA out of memory", Backend::Cuda),
        ("CUDA内存不足", Backend::Cuda),
        ("CUDA 内存不足", Backend::Cuda),
        ("HIP out of memory", Backend::Hip),
        ("XPU out of memory", Backend::Xpu),
        ("Current platform can NOT allocate", Backend::Xpu),
        ("NPU out of memory", Backend::Npu),
        ("MPS backend out of memory", Backend::Mps),
        ("MUSA out of memory", Backend::Other),
        ("MLU out of memory", Backend::Other),
        ("GCU out of memory", Backend::Other),
    ];
    let named = NAMES.iter().filter_map(|(words, backend)| lead.rfind(words).map(|at| (at, *backend)));
    named.max_by_key(|(at, _)| *at).map_or(Backend::Cuda, |(_, backend)| backend)
}

/// `(GPU 0; 79.15 GiB total capacity; …)`: what stands inside.
fn parenthesis(message: &str) -> Option<&str> {
    let open = message.find(['(', '（'])?;
    // The new wording has parentheses too, but later: `(e.g., CUDA Graphs)`.
    if open > 60 {
        return None;
    }
    let inside = message[open..].trim_start_matches(['(', '（']);
    let end = inside.find([')', '）']).unwrap_or(inside.len());
    inside[..end].contains([';', '；']).then(|| &inside[..end])
}

/// The wording until PyTorch 2.0, and Ascend's to this day: sizes with a label each, between semicolons.
fn old_wording(failure: &mut Failure, inside: &str) {
    for piece in inside.split([';', '；']) {
        let has = |words: &[&str]| words.iter().any(|word| piece.contains(word));
        let amount = first_size(piece);
        if has(&["total capacity", "总容量"]) {
            failure.capacity = amount;
        } else if has(&["already allocated", "已分配"]) {
            failure.allocated = amount;
        } else if has(&["reserved in total", "cached", "保留"]) {
            failure.reserved = amount;
        } else if has(&["allowed"]) {
            failure.allowed = amount;
        } else if has(&["free", "可用", "空闲"]) {
            failure.free = amount;
        } else if amount.is_none() {
            failure.device = device(piece);
        }
    }
    // Until PyTorch 1.3 `cached` was what the allocator holds beyond tensors.
    if inside.contains("cached")
        && let (Some(cached), Some(allocated)) = (failure.reserved, failure.allocated)
    {
        failure.reserved = Some(plus(cached, allocated));
    }
}

fn plus(one: Amount, other: Amount) -> Amount {
    Amount { bytes: one.bytes.saturating_add(other.bytes), half: one.half.saturating_add(other.half) }
}

/// `GPU 3` or `NPU 3`.
fn device(text: &str) -> Option<u64> {
    ["GPU", "NPU", "XPU", "MLU"].iter().find_map(|name| number_after(text, name))
}

/// The wording since PyTorch 2.1.
fn new_wording(failure: &mut Failure, message: &str) {
    let (card, holds) = message.split_once("Of the allocated memory").unwrap_or((message, ""));
    failure.device = device(card);
    // “capacty” in 2.1 and 2.2.
    failure.capacity = after(card, "total capac").and_then(first_size);
    failure.free = size_after(card, "of which");
    failure.allowed = card.find(" allowed").and_then(|at| last_size(&card[..at]));
    failure.in_use = size_after(card, "this process has");
    for rest in card.split("Process ").skip(1) {
        if let (Some(pid), Some(held)) = (scan::number(rest), size_after(rest, " has")) {
            failure.others.push(Process { pid, bytes: held.bytes });
        }
    }
    failure.allocated = size(holds).map(|(size, _)| size);
    failure.private = size_after(holds, "PyTorch, with");
    if let (Some(allocated), Some(idle)) = (failure.allocated, unallocated(holds)) {
        failure.reserved = Some(plus(allocated, idle));
    }
    own_process(failure);
}

/// The size before “is reserved by PyTorch but unallocated”.
fn unallocated(holds: &str) -> Option<Amount> {
    last_size(&holds[..holds.find("is reserved")?])
}

/// The size that `text` ends with.
fn last_size(text: &str) -> Option<Amount> {
    let words: Vec<&str> = text.split(' ').rev().filter(|word| !word.is_empty()).take(2).collect();
    size(&format!("{} {}", words.get(1)?, words.first()?)).map(|(size, _)| size)
}

/// In a container a process cannot tell which of the card's process numbers is its own: then the message names it
/// like any other, and it is the one that holds what this allocator does.
fn own_process(failure: &mut Failure) {
    if failure.in_use.is_some() {
        return;
    }
    let Some(reserved) = failure.reserved else { return };
    let large = |process: &&Process| process.bytes >= reserved.low();
    let mut own = failure.others.iter().filter(large).copied();
    if let (Some(process), None) = (own.next(), own.next()) {
        failure.in_use = Some(Amount { bytes: process.bytes, half: reserved.half });
        failure.others.retain(|other| *other != process);
    }
}

/// `MPS backend out of memory (MPS allocated: …, other allocations: …, max allowed: …). Tried to allocate …`
fn metal(failure: &mut Failure, lead: &str) {
    let Some(at) = lead.rfind("MPS backend out of memory") else { return };
    let lead = &lead[at..];
    failure.allocated = size_after(lead, "MPS allocated:");
    failure.in_use = match (failure.allocated, size_after(lead, "other allocations:")) {
        (Some(own), Some(other)) => Some(plus(own, other)),
        _ => None,
    };
    failure.allowed = size_after(lead, "max allowed:");
}

/// `out of memory` where no allocator tells more: `CUDA error: out of memory`, `cuda runtime error (2) : out of
/// memory`, `Cuda failure 'out of memory'`, `Error out of memory at line …`.
pub(super) fn driver(text: &str, position: usize) -> Option<Failure> {
    let lead = before(text, position, 48);
    let tail = head(&text[position..], 60);
    if lead.contains("Cuda failure") || lead.contains("Cuda Failure") {
        return Some(Failure::new(Kind::Nccl));
    }
    if lead.trim_end().ends_with("Error") && tail.starts_with("out of memory at line") {
        return Some(Failure::new(Kind::Bitsandbytes));
    }
    let lead = lead.trim_end();
    let says =
        ["CUDA error:", "HIP error:", "CUDA driver error:", "error (2) :", "error(2):", "cudaMalloc failed:"];
    let bare = ["CUDA out of memory", "HIP out of memory", "NPU out of memory"];
    let told = says.iter().any(|words| lead.ends_with(words))
        // The allocator's own sentence, cut off before its numbers.
        || bare.iter().any(|words| {
            let start = words.trim_end_matches("out of memory").trim_end();
            lead.ends_with(start) && !head(&text[position..], 400).contains("Tried to allocate")
        });
    told.then(|| Failure::new(Kind::Driver))
}

/// The driver's own allocator: `Allocation on device 0 would exceed allowed memory. (out of memory)`, with a list of
/// sizes below it (`c10/cuda/CUDAMallocAsyncAllocator.cpp`).
pub(super) fn asynchronous(text: &str, position: usize) -> Option<Failure> {
    let list = unwrapped(head(&text[position..], 600));
    let field = |label: &str| after(&list, label).and_then(|rest| size_after(rest, ":"));
    let device = before(text, position, 24).rsplit_once("device").and_then(|(_, rest)| scan::number(rest));
    Some(Failure {
        device,
        asked: Some(field("Requested")?),
        allocated: field("Currently allocated"),
        free: size_after(&list, "Free (according to CUDA):"),
        capacity: field("Device limit"),
        allowed: field("PyTorch limit"),
        ..Failure::new(Kind::Torch(Backend::CudaAsync))
    })
}

/// Gaudi: `[Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::268435456 (256)MB`.
pub(super) fn gaudi(text: &str, position: usize) -> Option<Failure> {
    let asked = number_after(head(&text[position..], 100), "size::")?;
    let rank = before(text, position, 40).rsplit_once("[Rank:").and_then(|(_, rest)| scan::number(rest));
    Some(Failure { rank, asked: Some(Amount::exact(asked)), ..Failure::new(Kind::Torch(Backend::Other)) })
}

/// Ascend's driver: `Call rtMalloc fail, purpose: page caching, type = 2, size:3221291008, device_id:0`.
pub(super) fn ascend(text: &str, position: usize) -> Option<Failure> {
    let line = head(&text[position..], 200);
    let asked = number_after(line, "size:")?;
    let device = number_after(line, "device_id:");
    Some(Failure { device, asked: Some(Amount::exact(asked)), ..Failure::new(Kind::Driver) })
}

/// MLX: `[metal::malloc] Attempting to allocate 48736917632 bytes which is greater than the maximum allowed buffer size
/// of 30150672384 bytes.`
pub(super) fn mlx(text: &str, position: usize) -> Option<Failure> {
    let line = head(&text[position..], 240);
    let asked = first_size(line)?;
    let allowed = size_after(line, "buffer size of");
    Some(Failure { asked: Some(asked), allowed, ..Failure::new(Kind::Mlx) })
}

/// Triton: `out of resource: shared memory, Required: 151680, Hardware limit: 101376.`
pub(super) fn on_chip(text: &str, position: usize) -> Option<Failure> {
    let line = head(&text[position..], 160);
    let asked = number_after(line, "Required:").map(Amount::exact)?;
    let capacity = number_after(line, "Hardware limit:").map(Amount::exact);
    Some(Failure { asked: Some(asked), capacity, ..Failure::new(Kind::OnChip) })
}

/// The whole number between a mark and a word: `(2147483648 bytes)`.
pub(super) fn between(text: &str, open: char, close: &str) -> Option<Amount> {
    let end = text.find(close)?;
    let start = text[..end].rfind(open)? + open.len_utf8();
    text[start..end].trim().parse().ok().map(Amount::exact)
}

/// `CUBLAS_STATUS_ALLOC_FAILED` and its kin.
pub(super) fn library(text: &str, position: usize) -> Option<Failure> {
    let lead = before(text, position, 24);
    let known = ["CUBLAS_STATUS", "CUDNN_STATUS", "CUSOLVER_STATUS", "CUSPARSE_STATUS", "CUFFT"];
    known.iter().any(|name| lead.ends_with(name)).then(|| Failure::new(Kind::Library))
}

/// `NCCL WARN Failed to CUDA calloc 6291456 bytes` (`nccl/src/include/alloc.h`).
pub(super) fn nccl(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position..], 80);
    let host = rest.contains(" host alloc");
    let asked = after(rest, "alloc ").map(|rest| rest.trim_start_matches("async ")).and_then(size)?;
    let kind = if host { Kind::Host(Host::Refused) } else { Kind::Nccl };
    Some(Failure { asked: Some(asked.0), ..Failure::new(kind) })
}

/// Paddle: `Cannot allocate 3.62GB memory on GPU 0, 21.18GB memory has been allocated and available memory is only
/// 2.81GB.`, and the same in Chinese.
pub(super) fn paddle(text: &str, position: usize) -> Option<Failure> {
    let message = unwrapped(head(&text[position..], 300));
    let asked = first_size(head(&message, 60))?;
    let chinese = message.starts_with("上分配");
    if !chinese && !message.contains("memory on ") {
        return None;
    }
    let allocated = match message.split_once(" memory has been allocated") {
        Some((lead, _)) => lead.rsplit(',').next().and_then(first_size),
        None => size_after(&message, "已分配"),
    };
    let free =
        size_after(&message, "available memory is only").or_else(|| size_after(&message, "可用内存仅为"));
    let device = if chinese { device(before(text, position, 12)) } else { device(&message) };
    Some(Failure { asked: Some(asked), allocated, free, device, ..Failure::new(Kind::Paddle) })
}

/// `MindSpore`: `Device(id:0) memory isn't enough and alloc failed, kernel name: …, alloc size: 1073741824B.`
pub(super) fn mindspore(text: &str, position: usize) -> Option<Failure> {
    let asked = Some(size_after(head(&text[position..], 400), "alloc size:")?);
    let device = before(text, position, 24).rsplit_once("id:").and_then(|(_, rest)| scan::number(rest));
    Some(Failure { device, asked, ..Failure::new(Kind::MindSpore) })
}
