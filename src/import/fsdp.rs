//! Fully sharded data parallelism as accelerate, transformers and axolotl say it
//! (`accelerate/utils/dataclasses.py`, `FullyShardedDataParallelPlugin`; `transformers/training_args.py`).

use super::draft::{Draft, Engine};
use super::given::{Given, Said};
use super::translate::{Row, word};
use super::{Why, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

/// Settings of the section, without the `fsdp_` that accelerate puts before them.
pub(crate) const ROWS: &[Row] = &[
    Row::flag("use_orig_params", Key::UseOrigParams),
    Row::words("activation_checkpointing", Key::Recompute, &[("true", "full"), ("false", "none")]),
    Row::words("version", Key::FsdpVersion, &[("1", "1"), ("2", "2")]),
];

/// Strategies of version 1, by name and by number (`torch.distributed.fsdp.ShardingStrategy`).
pub(crate) const STRATEGIES: &[(&str, &str)] = &[
    ("full_shard", "fsdp"),
    ("shard_grad_op", "fsdp-grad-op"),
    ("no_shard", "ddp"),
    ("hybrid_shard", "hsdp"),
    ("1", "fsdp"),
    ("2", "fsdp-grad-op"),
    ("3", "ddp"),
    ("4", "hsdp"),
];

/// Settings that change no memory, or only while loading and saving.
const HARMLESS: &[&str] = &[
    "auto_wrap_policy",
    "transformer_layer_cls_to_wrap",
    "state_dict_type",
    "sync_module_states",
    "cpu_ram_efficient_loading",
    "forward_prefetch",
    "limit_all_gathers",
    "final_state_dict_type",
    "xla*",
    "min_num_params",
    "save_optim*",
    "backward_prefetch_policy",
    "backward_prefetch",
];

/// Takes the section `fsdp_config`.
pub(super) fn section(given: &mut Given, draft: &mut Draft) {
    let mut section = given.section("fsdp_config");
    for name in [
        "version",
        "use_orig_params",
        "activation_checkpointing",
        "sharding_strategy",
        "reshard_after_forward",
        "offload_params",
        "auto_wrap_policy",
        "transformer_layer_cls_to_wrap",
        "state_dict_type",
        "sync_module_states",
        "cpu_ram_efficient_loading",
        "forward_prefetch",
        "limit_all_gathers",
        "min_num_params",
        "backward_prefetch",
        "backward_prefetch_policy",
        "mixed_precision_policy",
        "final_state_dict_type",
        "activation_checkpointing_offload",
    ] {
        if let Some(said) = section.take_any(&format!("fsdp_{name}")) {
            section.insert(name.to_owned(), said);
        }
    }
    strategy(&mut section, draft);
    if let Some(said) = section.take("offload_params").filter(|said| said.flag() == Some(true)) {
        offload(&said, draft);
    }
    if let Some(said) =
        section.take("activation_checkpointing_offload").filter(|said| said.flag() == Some(true))
    {
        draft.offload(&said, Offload::Activations);
    }
    // Off is the default, which a model's own checkpointing may go beyond.
    if section.peek("activation_checkpointing").is_some_and(|said| said.flag() == Some(false))
        && let Some(said) = section.take("activation_checkpointing")
    {
        draft.ignore(&said, Why::Harmless);
    }
    translate::read(ROWS, &mut section, draft);
    section.report_rest(HARMLESS, draft);
}

fn strategy(section: &mut Given, draft: &mut Draft) {
    if let Some(said) = section.take("sharding_strategy") {
        engine(draft);
        match word(STRATEGIES, &said) {
            Some(ours) => draft.set_key(&said, Key::DataParallel, ours),
            None => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
    // A strategy's name under version 1, a switch under version 2.
    if let Some(said) = section.take("reshard_after_forward") {
        engine(draft);
        match (said.flag(), word(STRATEGIES, &said)) {
            (_, Some(ours)) => draft.set_key(&said, Key::DataParallel, ours),
            (Some(true), None) => draft.set_key(&said, Key::DataParallel, "fsdp"),
            (Some(false), None) => draft.set_key(&said, Key::DataParallel, "fsdp-grad-op"),
            (None, None) => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
}

/// The list `--fsdp "full_shard auto_wrap offload"`.
pub(super) fn options(said: &Said, draft: &mut Draft) {
    let text = said.text().to_ascii_lowercase();
    let mut strategy = None;
    let mut parts = text.split([' ', ',']).filter(|part| !part.is_empty()).peekable();
    if parts.peek().is_none() || said.flag() == Some(false) {
        return draft.ignore(said, Why::Harmless);
    }
    for part in parts {
        match (part, STRATEGIES.iter().find(|(theirs, _)| *theirs == part)) {
            (_, Some((_, ours))) => strategy = Some(*ours),
            ("true", _) => strategy = Some("fsdp"),
            ("offload", _) => offload(said, draft),
            ("auto_wrap", _) => {}
            _ => draft.unsupported(said, words::OTHER_VALUE),
        }
    }
    engine(draft);
    draft.set_key(said, Key::DataParallel, strategy.unwrap_or("fsdp"));
}

/// With `CPUOffload` parameters, gradients and the step are the host's.
fn offload(said: &Said, draft: &mut Draft) {
    draft.offload(said, Offload::Parameters);
    draft.offload(said, Offload::Optimizer);
}

fn engine(draft: &mut Draft) {
    draft.facts.engine = Some(Engine::Fsdp);
    draft.facts.trains = true;
}
