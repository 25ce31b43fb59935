//! Which requests print as a message says: allocators ask the device for more than the program asks them.

use super::{Amount, Backend, Failure, Kind};

/// How a request becomes what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// PyTorch's caching allocator (`get_allocation_size` in `c10/cuda/CUDACachingAllocator.cpp`, which the XPU and
    /// NPU ones follow): 2 MiB for all requests up to 1 MiB, 20 MiB for those below 10 MiB, else multiples of 2 MiB.
    Segments,
    /// The same behind 32 bytes that Ascend's driver wants beside each request (`round_size` in
    /// `torch_npu/csrc/core/npu/NPUCachingAllocator.cpp`).
    PaddedSegments,
    /// The same in PyTorch 1.0: requests below 1 MiB ask for 1 MiB, others for multiples of 128 KiB.
    SmallSegments,
    /// Multiples of this many bytes.
    Multiple(u64),
}

const MIB: u64 = 1 << 20;

impl Rounding {
    /// Of the message's allocator.
    pub(super) fn of(failure: &Failure, asked: Amount) -> Self {
        match failure.kind {
            Kind::Torch(Backend::Mps) => Self::Multiple(16 << 10),
            Kind::Torch(Backend::Npu) => Self::PaddedSegments,
            // XLA's buffers start at multiples of 256 bytes; Paddle asks for one such piece more.
            Kind::Torch(Backend::CudaAsync) | Kind::Xla | Kind::Paddle => Self::Multiple(512),
            Kind::Torch(_) if asked.high() >= MIB && segments(asked) => Self::Segments,
            Kind::Torch(_) => Self::SmallSegments,
            _ => Self::Multiple(1),
        }
    }

    /// What the device is asked for.
    pub(super) const fn ask(self, request: u64) -> u64 {
        match self {
            Self::Segments if request <= MIB => 2 * MIB,
            Self::Segments if request < 10 * MIB => 20 * MIB,
            Self::Segments => up(request, 2 * MIB),
            Self::PaddedSegments => Self::Segments.ask(request.saturating_add(32)),
            Self::SmallSegments if request < MIB => MIB,
            Self::SmallSegments => up(request, 128 << 10),
            Self::Multiple(of) => up(request, of),
        }
    }

    /// Whether a request prints as this amount.
    pub(super) fn prints(self, request: u64, as_amount: Amount) -> bool {
        // A library may print before it rounds.
        as_amount.is(self.ask(request)) || matches!(self, Self::Multiple(_)) && as_amount.is(request)
    }

    /// Whether requests of many sizes print so: then a match says little.
    pub(super) fn is_vague(self, asked: Amount) -> bool {
        match self {
            Self::Segments | Self::PaddedSegments => asked.is(2 * MIB) || asked.is(20 * MIB),
            Self::SmallSegments => asked.is(MIB),
            Self::Multiple(_) => false,
        }
    }
}

/// Whether an even number of MiB prints so.
fn segments(asked: Amount) -> bool {
    asked.high() / (2 * MIB) * (2 * MIB) >= asked.low()
}

const fn up(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to).saturating_mul(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torch(bytes: u64, half: u64) -> Rounding {
        Rounding::of(&Failure::new(Kind::Torch(Backend::Cuda)), Amount { bytes, half })
    }

    #[test]
    fn requests_print_as_their_segment() {
        let gib = Amount { bytes: 2 << 30, half: 5_368_710 };
        let rounding = torch(gib.bytes, gib.half);
        assert_eq!(rounding, Rounding::Segments);
        // 2048 tokens, 128 256 words, 4 bytes, twice: 1.96 GiB and no other.
        assert!(rounding.prints(2 * 1024 * MIB, gib));
        assert!(!rounding.prints(2 * 2048 * 128_256 * 4, gib));
        assert!(rounding.prints(3 * MIB, Amount { bytes: 20 * MIB, half: 5243 }));
        assert!(rounding.prints(1, Amount { bytes: 2 * MIB, half: 5243 }));
        assert!(rounding.is_vague(Amount { bytes: 20 * MIB, half: 5243 }));
    }

    #[test]
    fn odd_sizes_are_of_the_first_allocator() {
        let asked = Amount { bytes: 12 * MIB + MIB / 2, half: 5243 };
        let rounding = torch(asked.bytes, asked.half);
        assert_eq!(rounding, Rounding::SmallSegments);
        assert!(rounding.prints(12 * MIB + MIB / 2 - 1, asked));
        assert_eq!(torch(25 * MIB, 5243), Rounding::SmallSegments);
    }
}
