//! Sentences of the printed reports and the headline.

use super::Text;

// Headline: first the verdict, then when and what.

/// On one GPU.
pub const ON_ONE: Text = Text::new("Peak {peak} on one GPU", "单卡峰值 {peak}");
/// On each of several.
pub const ON_EACH: Text = Text::new("Peak {peak} on each of {gpus} GPUs", "{gpus} 张卡每张峰值 {peak}");
/// It fits.
pub const FITS: Text = Text::new("{on}: fits {gpu}, {spare} to spare", "{on}：{gpu} 放得下，还余 {spare}");
/// It should fit, unless the allocator does badly.
pub const TIGHT: Text = Text::new(
    "{on}: tight on {gpu}, {spare} to spare as expected, {missing} missing in a bad case",
    "{on}：{gpu} 勉强够用，预计还余 {spare}，最坏情况下差 {missing}",
);
/// It does not fit.
pub const FITS_NOT: Text =
    Text::new("{on}: does not fit {gpu}: {missing} missing", "{on}：{gpu} 放不下，还差 {missing}");
/// When the peak is, and what dominates then.
pub const WORST: Text = Text::new(
    "The worst moment is the {moment}; {block} are {share} of it.",
    "峰值出现在{moment}，其中{block}占 {share}。",
);
/// A capacity without a card.
pub const MEMORY: Text = Text::new("{size} of memory", "显存 {size}");
/// The share of a whole, from tenths of a percent.
pub const PERCENT: Text = Text::new("{number} %", "{number}%");

/// A card with its indefinite article: `an A100`, `a V100`. Chinese has none.
pub fn a_card(name: &str, lang: super::Lang) -> String {
    if lang == super::Lang::Zh {
        return name.to_owned();
    }
    let word = name.split([' ', '-']).next().unwrap_or(name);
    let spelled = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    // Letters spelled out (RTX, MI300X) go by the sound of the letter's name; NVIDIA sounds like one of them.
    let vowels = if spelled { "AEFHILMNORSX8" } else { "AEIOaeio" };
    let article = if word.starts_with(|first| vowels.contains(first)) { "an" } else { "a" };
    format!("{article} {name}")
}

// Columns and rows of the tables.

/// Column: the block's name.
pub const BLOCK: Text = Text::new("Block", "显存块");
/// Column: bytes at the worst moment.
pub const AT_PEAK: Text = Text::new("At the peak", "峰值时刻");
/// Column: share of the peak.
pub const SHARE: Text = Text::new("Share", "占比");
/// Column: the block's own largest.
pub const LARGEST: Text = Text::new("Largest", "自身最大");
/// Row: all blocks at the peak.
pub const LIVE: Text = Text::new("Live tensors", "存活张量");
/// Column: which total.
pub const TOTAL: Text = Text::new("Total", "总量");
/// Column: the expected value.
pub const EXPECTED: Text = Text::new("Expected", "预计");
/// Column: low and high end.
pub const RANGE: Text = Text::new("Range", "区间");
/// Column: what a row counts.
pub const COUNTS: Text = Text::new("Counts", "口径");
/// Row: the framework's counter.
pub const ALLOCATED: Text = Text::new("allocated", "已分配 allocated");
/// Row: the caching allocator.
pub const RESERVED: Text = Text::new("reserved", "已预留 reserved");
/// Row: the whole card.
pub const DEVICE: Text = Text::new("device", "整卡占用 device");
/// Row: the card.
pub const CAPACITY: Text = Text::new("capacity", "显存容量");
/// Row: offloaded bytes.
pub const HOST: Text = Text::new("host", "主机内存 host");
/// What `allocated` counts.
pub const COUNTS_ALLOCATED: Text =
    Text::new("the framework's own counter at its maximum", "框架自身计数器的最大值");
/// What `reserved` counts.
pub const COUNTS_RESERVED: Text = Text::new("with the caching allocator", "加上缓存分配器");
/// What `device` counts.
pub const COUNTS_DEVICE: Text = Text::new("with what lives outside it", "再加上分配器之外的部分");
/// What `host` counts.
pub const COUNTS_HOST: Text = Text::new("offloaded, in one node's memory", "卸载到单个节点的内存");
/// Column: size.
pub const SIZE: Text = Text::new("Size", "大小");
/// Column: a tensor's name.
pub const TENSOR: Text = Text::new("Tensor", "张量");
/// A symbol that stands for one rank's share.
pub const SHARE_OF: Text = Text::new("{letter} = {share} (1/{ranks})", "{letter} = {share}（1/{ranks}）");
/// Column: a formula in symbols.
pub const FORMULA: Text = Text::new("Formula", "公式");
/// Column: an element's type.
pub const DTYPE: Text = Text::same("dtype");
/// Between a name and what is said of it.
pub const COLON: Text = Text::new(": ", "：");
/// Heading of the largest rows.
pub const LARGEST_TENSORS: Text = Text::new("The largest tensors at the peak", "峰值时刻最大的张量");
/// What the list leaves out.
pub const AND_MORE: Text = Text::new("and {count} more rows, {size} together", "另有 {count} 行，共 {size}");
/// Heading of the warnings.
pub const WARNINGS: Text = Text::new("Warnings", "警告");

#[cfg(test)]
mod tests {
    use super::a_card;
    use crate::text::Lang;

    #[test]
    fn the_article_follows_the_sound() {
        for (name, expected) in [
            ("A100 80 GB", "an A100 80 GB"),
            ("NVIDIA H100", "an NVIDIA H100"),
            ("AMD Instinct MI300X", "an AMD Instinct MI300X"),
            ("V100", "a V100"),
            ("RTX 4090", "an RTX 4090"),
            ("Huawei Ascend 910B", "a Huawei Ascend 910B"),
            ("Intel Gaudi 3", "an Intel Gaudi 3"),
        ] {
            assert_eq!(a_card(name, Lang::En), expected);
        }
        assert_eq!(a_card("A100 80 GB", Lang::Zh), "A100 80 GB");
    }
}
