//! From live tensors to what tools show: library workspaces, the caching allocator, the device; and the verdict.

use super::{Band, Fit, Verdict};
use crate::config::{Config, DEFAULT_GPU, Gpu, gpu};
use crate::ledger::activations::Megatron;
use crate::ledger::{Block, Dtype, Entry, Group, Shape, Symbols};
use crate::text::tensors;

/// The card that a configuration asks for (`None`: only a capacity was given, or the card is unknown).
pub(super) fn card(config: &Config) -> Option<&'static Gpu> {
    match (&config.gpu, config.gpu_memory) {
        (Some(id), _) => gpu(id),
        (None, None) => gpu(DEFAULT_GPU),
        (None, Some(_)) => None,
    }
}

/// cuBLAS workspaces: one for the thread that runs forward, one for autograd's; and Transformer Engine's own.
///
/// `at::cuda::getChosenWorkspaceSize` (`pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp`): 32 MiB on compute
/// capability 9.x and 10.x, else 4096 KiB × 2 + 16 KiB × 8. An outside check on an A100 found two of the latter.
/// Transformer Engine (`pytorch/module/base.py`, `get_cublas_workspace_size_bytes`) has one of 32 MiB there, else 4 MiB,
/// and for grouped products four more.
pub(super) fn workspaces(card: Option<&Gpu>, megatron: Option<&Megatron>) -> Vec<Entry> {
    let place = (Block::Overhead, Group::Other);
    let row = |tensor, each: u64, count| {
        let shape = Shape::flat(each);
        Entry::lasting((tensor, ""), place, (shape, Dtype::Byte), count, &Symbols::default())
    };
    let mut rows = vec![row(&tensors::WORKSPACE, workspace(card), 2)];
    if let Some(megatron) = megatron.filter(|megatron| megatron.engine) {
        let each = if large(card) { 32 << 20 } else { 4 << 20 };
        rows.push(row(&tensors::ENGINE_WORKSPACE, each, if megatron.grouped { 5 } else { 1 }));
    }
    rows
}

/// Bytes of one of them.
pub(super) fn workspace(card: Option<&Gpu>) -> u64 {
    if large(card) { 32 << 20 } else { 8_519_680 }
}

/// Compute capability 9.x or 10.x.
fn large(card: Option<&Gpu>) -> bool {
    card.is_some_and(|card| matches!(card.architecture, "hopper" | "blackwell"))
}

/// What the caching allocator holds beyond what it handed out.
///
/// 415 runs of the real allocator at full model size (eager PyTorch, no expandable segments): reserved ÷ allocated
/// is 1.00 at least, 1.04 at the median, 1.17 at the 95th percentile.
pub(super) fn reserved(allocated: u64) -> Band {
    Band {
        low: allocated,
        expected: allocated.saturating_add(allocated / 25),
        high: allocated.saturating_add(allocated / 100 * 17),
    }
}

/// The CUDA context with its kernels, as it mostly is (bytes).
pub(super) const CONTEXT: u64 = 500_000_000;

/// What lives outside the allocator on one GPU: the CUDA context with its kernels. Published readings on data-centre
/// cards: 0.3 to 0.6 GB, up to 1.8 GB with many libraries loaded; the band leaves the rare end out.
pub(super) fn device(reserved: &Band) -> Band {
    Band {
        low: reserved.low.saturating_add(300_000_000),
        expected: reserved.expected.saturating_add(CONTEXT),
        high: reserved.high.saturating_add(1_000_000_000),
    }
}

/// The memory of the chosen card (bytes).
pub(super) fn capacity(config: &Config) -> u64 {
    config.gpu_memory.or_else(|| card(config).map(Gpu::usable)).unwrap_or(0)
}

/// The device band against the capacity.
pub(super) fn fit(config: &Config, device: &Band) -> Fit {
    let card = card(config);
    let capacity = capacity(config);
    let verdict = if device.high <= capacity {
        Verdict::Yes
    } else if device.expected <= capacity {
        Verdict::Tight
    } else {
        Verdict::No
    };
    let spare = i128::from(capacity) - i128::from(device.expected);
    let spare = i64::try_from(spare).unwrap_or(if spare < 0 { i64::MIN } else { i64::MAX });
    Fit { gpu: card, capacity, verdict, spare }
}
