//! Messages of XLA (JAX, TPUs, PyTorch/XLA) and of TensorFlow.

use super::failures::before;
use super::scan::{Amount, after, first_size, head, number, number_after, size, size_after};
use super::torch::between;
use super::{Buffer, Failure, Host, Kind};

/// `Out of memory while trying to allocate 6291456 bytes.`, and the allocator's own
/// `Allocator (GPU_1_bfc) ran out of memory trying to allocate 27.93GiB (rounded to 29995136256)`.
pub(super) fn allocator(text: &str, position: usize) -> Option<Failure> {
    let lead = before(text, position, 90);
    let rest = head(&text[position + "trying to allocate ".len()..], 160);
    // XLA tries for faster ways first.
    if rest.contains("not a failure") {
        return None;
    }
    let mut failure = Failure::new(Kind::Xla);
    if lead.ends_with("ran out of memory ") {
        failure.device = after(lead, "(GPU_").and_then(number);
    } else if !(lead.contains("ut of memory while ") || lead.contains("OOM")) {
        return None;
    }
    failure.asked = Some(size(rest)?.0);
    Some(failure)
}

/// `RESOURCE_EXHAUSTED: Out of memory allocating 20029400304 bytes.`
pub(super) fn plain(text: &str, position: usize) -> Option<Failure> {
    let asked = first_size(head(&text[position..], 80))?;
    Some(Failure { asked: Some(asked), ..Failure::new(Kind::Xla) })
}

/// `failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`, and of the host's pinned
/// memory `failed to alloc 17179869184 bytes on host: …`.
pub(super) fn executor(text: &str, position: usize) -> Option<Failure> {
    let line = head(&text[position..], 160).lines().next()?;
    let (asked, reason) = line.split_once(": ")?;
    if !reason.contains("OUT_OF_MEMORY") {
        return None;
    }
    let kind = if asked.contains(" on host") { Kind::Host(Host::Refused) } else { Kind::Xla };
    let asked = between(asked, '(', " bytes)").or_else(|| first_size(asked))?;
    Some(Failure { asked: Some(asked), ..Failure::new(kind) })
}

/// `Failed to allocate request for 2.99GiB (3206250496B) on device ordinal 0`.
pub(super) fn request(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position..], 140);
    let asked = between(rest, '(', "B)").or_else(|| first_size(rest))?;
    let device = number_after(rest, "on device ordinal");
    Some(Failure { asked: Some(asked), device, ..Failure::new(Kind::Xla) })
}

/// `Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.`: the whole
/// program, before it ran.
pub(super) fn space(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position..], 400);
    let used = size_after(rest, "Used ")?;
    let capacity = after(rest, "Used ").and_then(|rest| size_after(rest, " of "));
    Some(Failure { asked: Some(used), capacity, ..Failure::new(Kind::Tpu) })
}

/// `Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are 1.92G free, …`, with the
/// card's own sums behind it.
pub(super) fn reservation(text: &str, position: usize) -> Option<Failure> {
    let lead = before(text, position, 100);
    let asked = ["Attempting to reserve ", "Attempting to allocate "];
    let asked = asked.iter().find_map(|words| lead.rfind(words).and_then(|at| first_size(&lead[at..])))?;
    let rest = head(&text[position..], 700);
    let free = size_after(rest, "There are ");
    let capacity = size_after(rest, "HBM capacity ");
    let allocated = size_after(rest, "Currently allocated:");
    Some(Failure { asked: Some(asked), allocated, free, capacity, ..Failure::new(Kind::Tpu) })
}

/// `OOM when allocating tensor with shape[100,4096,32] and type float on /job:…/device:GPU:0 by allocator GPU_0_bfc`.
pub(super) fn tensor(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position..], 400);
    let inside = rest.split_once('[')?.1.split_once(']')?.0;
    let axes: Option<Vec<u64>> = inside.split(',').map(|axis| axis.trim().parse().ok()).collect();
    let axes = axes?;
    let kind = after(rest, "and type ").unwrap_or_default();
    let kind: String = kind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let bytes =
        element(&kind).map(|each| axes.iter().fold(each, |product, axis| product.saturating_mul(*axis)));
    let lower = rest.to_ascii_lowercase();
    let device = number_after(&lower, "device:gpu:");
    let asked = bytes.map(Amount::exact);
    Some(Failure { asked, device, shape: Some((axes, kind)), ..Failure::new(Kind::TensorFlow) })
}

/// Bytes of an element type in TensorFlow's words.
fn element(kind: &str) -> Option<u64> {
    Some(match kind {
        "double" | "int64" | "uint64" | "complex64" => 8,
        "float" | "int32" | "uint32" => 4,
        "half" | "bfloat16" | "int16" | "uint16" => 2,
        "bool" | "int8" | "uint8" => 1,
        _ => return None,
    })
}

/// The largest buffers that are told.
const BUFFERS: usize = 8;

/// XLA's own list of its largest buffers (`BufferAssignment OOM Debugging`, `Largest program allocations in hbm`).
pub(super) fn buffers(text: &str) -> Vec<Buffer> {
    let heading = ["Peak buffers:", "Largest program allocations in hbm:"];
    let Some(list) = heading.iter().find_map(|words| after(text, words)) else { return Vec::new() };
    let list = head(list, 64 << 10);
    let mut all: Vec<Buffer> = Vec::new();
    for part in list.split("Size: ").skip(1).take(BUFFERS) {
        let part = head(part, 2000);
        let (Some((size, _)), Some(shape)) = (size(part), after(part, "hape: ")) else { continue };
        let shape = shape.lines().next().unwrap_or_default().trim();
        let shape = shape.split('{').next().unwrap_or_default().to_owned();
        let named = after(part, "op_name=\"").and_then(|rest| rest.split_once('"'));
        let path = named.map_or("", |(name, _)| name.split('[').next().unwrap_or(name));
        // The last three steps of the path tell the module and the operator.
        let steps: Vec<&str> = path.rsplit('/').take(3).collect();
        let operator = steps.into_iter().rev().collect::<Vec<_>>().join("/");
        all.push(Buffer { size, shape, operator });
    }
    all
}
