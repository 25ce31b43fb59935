//! The answer in two sentences.

use super::share;
use crate::config::{Config, Units};
use crate::estimate::{Estimate, Verdict};
use crate::ledger::Block;
use crate::text::{Lang, ledger, report as text};
use crate::units::size;

/// The answer in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// How much, on how many GPUs, and whether it fits, without a full stop.
    pub verdict: String,
    /// When the worst moment is, and which block dominates it.
    pub worst: String,
}

/// Says the answer. The peak is the expected device total, so that peak and spare add up to the card's memory.
pub fn headline(config: &Config, estimate: &Estimate, lang: Lang, units: Units) -> Headline {
    let peak = size(estimate.device.expected, units);
    let on = match config.gpus {
        0 | 1 => text::ON_ONE.fill(lang, &[("peak", &peak)]),
        gpus => text::ON_EACH.fill(lang, &[("peak", &peak), ("gpus", &gpus)]),
    };
    let fits = &estimate.fits;
    let gpu = match fits.gpu {
        Some(gpu) => text::a_card(gpu.name, lang),
        None => text::MEMORY.fill(lang, &[("size", &size(fits.capacity, units))]),
    };
    let spare = size(fits.spare.unsigned_abs(), units);
    let verdict = match fits.verdict {
        Verdict::Yes => text::FITS.fill(lang, &[("on", &on), ("gpu", &gpu), ("spare", &spare)]),
        Verdict::Tight => {
            let missing = size(estimate.device.high.saturating_sub(fits.capacity), units);
            let values: [(&str, &dyn std::fmt::Display); 4] =
                [("on", &on), ("gpu", &gpu), ("spare", &spare), ("missing", &missing)];
            text::TIGHT.fill(lang, &values)
        }
        Verdict::No => text::FITS_NOT.fill(lang, &[("on", &on), ("gpu", &gpu), ("missing", &spare)]),
    };

    let (block, bytes) = dominant(estimate);
    let worst = text::WORST.fill(
        lang,
        &[
            ("moment", &ledger::moment(estimate.peak.moment, lang)),
            ("block", &ledger::block_inline(block).get(lang)),
            ("share", &share(bytes, estimate.peak.bytes, lang)),
        ],
    );
    Headline { verdict, worst }
}

/// The largest block at the peak; the earlier one in the figure's order when two are equal.
fn dominant(estimate: &Estimate) -> (Block, u64) {
    let first = (Block::Parameters, 0);
    estimate.peak.blocks.iter().fold(first, |best, next| if next.1 > best.1 { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn it_fits() {
        let said = headline(&Config::default(), &example::estimate(), Lang::En, Units::Gib);
        assert_eq!(said.verdict, "Peak 57 GiB on one GPU: fits an A100 80 GB, 23 GiB to spare");
        assert_eq!(said.worst, "The worst moment is the backward of the loss; activations are 55 % of it.");
        let said = headline(&Config::default(), &example::estimate(), Lang::Zh, Units::Gib);
        assert_eq!(said.verdict, "单卡峰值 57 GiB：A100 80 GB 放得下，还余 23 GiB");
        assert_eq!(said.worst, "峰值出现在损失的反向，其中激活值占 55%。");
    }

    #[test]
    fn it_does_not_fit_eight_cards_without_a_name() {
        let mut estimate = example::estimate();
        estimate.fits.gpu = None;
        estimate.fits.capacity = 40 << 30;
        estimate.fits.spare = -(17 << 30);
        estimate.fits.verdict = Verdict::No;
        let config = Config { gpus: 8, ..Config::default() };
        let said = headline(&config, &estimate, Lang::En, Units::Gib);
        assert_eq!(
            said.verdict,
            "Peak 57 GiB on each of 8 GPUs: does not fit 40 GiB of memory: 17 GiB missing"
        );
        let said = headline(&config, &estimate, Lang::Zh, Units::Gb);
        assert_eq!(said.verdict, "8 张卡每张峰值 61.2 GB：显存 42.9 GB 放不下，还差 18.3 GB");
    }

    #[test]
    fn tight_says_both_ends() {
        let mut estimate = example::estimate();
        estimate.fits.capacity = 58 << 30;
        estimate.fits.spare = 1 << 30;
        estimate.fits.verdict = Verdict::Tight;
        let said = headline(&Config::default(), &estimate, Lang::En, Units::Gib);
        assert_eq!(
            said.verdict,
            "Peak 57 GiB on one GPU: tight on an A100 80 GB, 1 GiB to spare as expected, 2 GiB missing in a bad case"
        );
    }
}
