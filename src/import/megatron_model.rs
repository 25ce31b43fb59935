//! The model that Megatron's options describe, as fields of the `config.json` with the same layers.

use super::Why;
use super::draft::Draft;
use super::given::{Given, Said};
use crate::architecture::Architecture;
use crate::config::{Config, Key, Preset, by_name, presets};
use crate::text::import as words;

/// Sizes: their option, the field.
pub(crate) const SIZES: &[(&str, &str)] = &[
    ("num_layers", "num_hidden_layers"),
    ("hidden_size", "hidden_size"),
    ("num_attention_heads", "num_attention_heads"),
    ("kv_channels", "head_dim"),
    ("max_position_embeddings", "max_position_embeddings"),
    ("vocab_size", "vocab_size"),
    ("moe_router_topk", "num_experts_per_tok"),
    ("q_lora_rank", "q_lora_rank"),
    ("kv_lora_rank", "kv_lora_rank"),
    ("qk_head_dim", "qk_nope_head_dim"),
    ("qk_pos_emb_head_dim", "qk_rope_head_dim"),
    ("v_head_dim", "v_head_dim"),
];

/// Takes the model's options.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    let flag =
        |name: &str, given: &mut Given| given.take(name).is_some_and(|said| said.flag() != Some(false));
    let tokenizer = given.peek("tokenizer_model").or_else(|| given.peek("tokenizer_name_or_path")).cloned();
    let tokenizer_type = given.peek("tokenizer_type").cloned();
    if given.count(&["num_layers", "hidden_size", "num_attention_heads"]) < 3 {
        if let Some(said) = tokenizer.filter(|said| by_name(&said.text()).is_some()) {
            super::model_name::read(&said, draft);
        }
        return;
    }
    let shape = Shape {
        gated: flag("swiglu", given),
        rms: given.take("normalization").is_some_and(|said| said.word() == "rmsnorm"),
        rotary: given.peek("position_embedding_type").is_some_and(|said| said.word() == "rope")
            || given.has("use_rotary_position_embeddings"),
        qkv_bias: flag("add_qkv_bias", given),
        qk_norm: flag("qk_layernorm", given),
        latent: flag("multi_latent_attention", given),
    };
    let heads = given.take("group_query_attention").filter(|said| said.flag() != Some(false));
    let groups = given.take("num_query_groups").filter(|_| heads.is_some());
    for (option, field) in SIZES {
        if let Some(said) = given.take(option) {
            draft.set(&said, field, &said.text());
        }
    }
    if let Some(said) = groups {
        draft.set(&said, "num_key_value_heads", &said.text());
    } else {
        let heads = draft.config.get("num_attention_heads");
        draft.assume("num_key_value_heads", &heads, words::MEGATRON_DEFAULT);
    }
    feed_forward(&shape, given, draft);
    let tied =
        given.peek("untie_embeddings_and_output_weights").is_none_or(|said| said.flag() == Some(false));
    draft.assume("tie_word_embeddings", &tied.to_string(), words::MEGATRON_DEFAULT);
    let kind = shape.model_type(given.has("num_experts") || draft.is_given("num_experts_per_tok"));
    experts(kind, given, draft);
    draft.assume("model_type", kind, words::BY_SHAPE);
    vocabulary(tokenizer.as_ref(), tokenizer_type.as_ref(), draft);
    // A model type means a whole model: no preset lies under it.
    draft.config.model = None;
    shipped(tokenizer.as_ref(), draft);
}

/// The shipped model of the tokenizer's name, where the options describe just that model.
fn shipped(tokenizer: Option<&Said>, draft: &mut Draft) {
    let Some((said, named)) = tokenizer.and_then(|said| by_name(&said.text()).map(|named| (said, named)))
    else {
        return;
    };
    let whole =
        Config { model: Some(named.preset.id.clone()), dropout: draft.config.dropout, ..Config::default() };
    let (Ok(shipped), Ok(mut described)) = (Architecture::of(&whole), Architecture::of(&draft.config)) else {
        return;
    };
    // The same layers may go by the name of another family.
    described.model_type.clone_from(&shipped.model_type);
    if shipped == described {
        draft.config.architecture.clear();
        draft.forget_assumed_fields();
        draft.set_key(said, Key::Model, &named.preset.id);
    }
}

/// What tells one kind of decoder from another.
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Shape {
    gated: bool,
    rms: bool,
    rotary: bool,
    qkv_bias: bool,
    qk_norm: bool,
    latent: bool,
}

impl Shape {
    /// The model type of transformers with these layers.
    const fn model_type(&self, experts: bool) -> &'static str {
        match self {
            Self { latent: true, .. } => "deepseek_v3",
            Self { gated: true, qk_norm: true, .. } if experts => "qwen3_moe",
            Self { gated: true, .. } if experts => "mixtral",
            Self { gated: true, rms: true, qk_norm: true, .. } => "qwen3",
            Self { gated: true, rms: true, qkv_bias: true, .. } => "qwen2",
            Self { gated: true, .. } | Self { rms: true, rotary: true, .. } => "llama",
            _ => "gpt2",
        }
    }
}

/// Four times the hidden size, or with a gate two thirds of that in steps of 64, where nothing is said
/// (`validate_args`).
fn feed_forward(shape: &Shape, given: &mut Given, draft: &mut Draft) {
    let hidden: u64 = draft.config.get("hidden_size").parse().unwrap_or_default();
    if let Some(said) = given.take("ffn_hidden_size") {
        draft.set(&said, "intermediate_size", &said.text());
    } else {
        let wide = hidden.saturating_mul(4);
        let inner = if shape.gated { wide.saturating_mul(2) / 3 / 64 * 64 } else { wide };
        draft.assume("intermediate_size", &inner.to_string(), words::MEGATRON_DEFAULT);
    }
}

/// The field that holds the number of experts.
pub(crate) fn experts_field(kind: &str) -> &'static str {
    match kind {
        "mixtral" => "num_local_experts",
        "deepseek_v3" => "n_routed_experts",
        _ => "num_experts",
    }
}

fn experts(kind: &str, given: &mut Given, draft: &mut Draft) {
    let field = experts_field(kind);
    if let Some(said) = given.take("num_experts") {
        draft.set(&said, field, &said.text());
    }
    if let Some(said) = given.take("moe_ffn_hidden_size") {
        let field = if kind == "mixtral" { "intermediate_size" } else { "moe_intermediate_size" };
        draft.set(&said, field, &said.text());
    }
    if let Some(said) = given.take("moe_shared_expert_intermediate_size") {
        let inner: u64 = draft.config.get("moe_intermediate_size").parse().unwrap_or_default();
        match said.number().and_then(|all| all.checked_div(inner)).filter(|&shared| shared > 0) {
            Some(shared) if kind == "deepseek_v3" => {
                draft.set(&said, "n_shared_experts", &shared.to_string());
            }
            _ => draft.unsupported(&said, words::NO_KEY),
        }
    }
    // `([0]*3+[1]*58)`: the dense layers come first.
    if let Some(said) = given.take("moe_layer_freq") {
        let text: String = said.text().chars().filter(|c| !c.is_whitespace()).collect();
        let dense = text
            .trim_matches(['(', ')'])
            .strip_prefix("[0]*")
            .and_then(|rest| rest.split_once("+[1]").and_then(|(dense, _)| dense.parse::<u64>().ok()));
        match dense {
            Some(dense) if kind == "deepseek_v3" => {
                draft.set(&said, "first_k_dense_replace", &dense.to_string());
            }
            _ if text == "1" => draft.ignore(&said, Why::Harmless),
            _ => draft.unsupported(&said, words::NO_KEY),
        }
    }
}

/// The vocabulary comes with the tokenizer, whose file is not here: its name, or its kind, may tell.
fn vocabulary(tokenizer: Option<&Said>, kind: Option<&Said>, draft: &mut Draft) {
    if draft.is_given("vocab_size") {
        return;
    }
    let size = |preset: &Preset| preset.config.get("vocab_size").map(ToString::to_string);
    if let Some(said) = tokenizer
        && let Some(vocabulary) = by_name(&said.text()).and_then(|named| size(named.preset))
    {
        return draft.set(said, "vocab_size", &vocabulary);
    }
    let by_kind = match kind.map(Said::word).as_deref() {
        Some("gpt2bpetokenizer") => Some("50257".to_owned()),
        Some("llama2tokenizer") => Some("32000".to_owned()),
        _ => None,
    };
    if let Some(vocabulary) = by_kind {
        return draft.assume("vocab_size", &vocabulary, words::BY_TOKENIZER);
    }
    let same = |preset: &&Preset| {
        [
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "intermediate_size",
        ]
        .iter()
        .all(|field| preset.config.get(*field) == draft.config.architecture.get(*field))
    };
    match presets().iter().rev().find(same).and_then(size) {
        Some(vocabulary) => draft.assume("vocab_size", &vocabulary, words::BY_SHAPE),
        None => draft.assume("vocab_size", "50257", words::VOCABULARY_UNKNOWN),
    }
}
