//! A model as Megatron's options, for the kinds of decoders that they can describe.

use serde_json::{Map, Value};

use super::sheet::Sheet;
use crate::config::repository;
use crate::import::tables::{SIZES, experts_field};

/// Writes the model's options; nothing for other kinds.
pub(super) fn write(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let base = config.base();
    let mut fields = base.map(|preset| preset.config.clone()).unwrap_or_default();
    fields.extend(config.architecture.clone());
    let kind = text(&fields, "model_type").to_owned();
    if !["llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe", "deepseek_v3", "gpt2"]
        .contains(&kind.as_str())
    {
        return;
    }
    for (option, field) in SIZES {
        if let Some(size) = number(&fields, field) {
            sheet.put(option, size);
        }
    }
    let inner = if kind == "mixtral" { "moe_ffn_hidden_size" } else { "ffn_hidden_size" };
    if let Some(size) = number(&fields, "intermediate_size") {
        sheet.put("ffn_hidden_size", size);
        if kind == "mixtral" {
            sheet.put(inner, size);
        }
    }
    if let Some(groups) = number(&fields, "num_key_value_heads")
        && Some(groups) != number(&fields, "num_attention_heads")
    {
        sheet.put("group_query_attention", true);
        sheet.put("num_query_groups", groups);
    }
    if kind != "gpt2" {
        sheet.put("swiglu", true);
        sheet.put("normalization", "RMSNorm");
        sheet.put("position_embedding_type", "rope");
        sheet.put("disable_bias_linear", true);
    }
    sheet.switch("add_qkv_bias", kind == "qwen2");
    sheet.switch("qk_layernorm", ["qwen3", "qwen3_moe"].contains(&kind.as_str()));
    let tied = fields.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(kind == "gpt2");
    sheet.switch("untie_embeddings_and_output_weights", !tied);
    experts(&kind, &fields, sheet);
    let dropout = config.dropout.unwrap_or(0.0);
    sheet.put("hidden_dropout", dropout);
    sheet.put("attention_dropout", dropout);
    if let Some(repository) = base.filter(|_| config.architecture.is_empty()).and_then(repository) {
        sheet.put("tokenizer_type", "HuggingFaceTokenizer");
        sheet.put("tokenizer_model", repository);
    }
}

fn experts(kind: &str, fields: &Map<String, Value>, sheet: &mut Sheet<'_>) {
    sheet.switch("multi_latent_attention", kind == "deepseek_v3");
    if let Some(count) = number(fields, experts_field(kind)) {
        sheet.put("num_experts", count);
    }
    let inner = number(fields, "moe_intermediate_size");
    if let Some(inner) = inner {
        sheet.put("moe_ffn_hidden_size", inner);
    }
    if let (Some(inner), Some(shared)) = (inner, number(fields, "n_shared_experts")) {
        sheet.put("moe_shared_expert_intermediate_size", inner.saturating_mul(shared));
    }
    if let (Some(dense), Some(layers)) =
        (number(fields, "first_k_dense_replace"), number(fields, "num_hidden_layers"))
    {
        let sparse = layers.saturating_sub(dense);
        sheet.put("moe_layer_freq", format!("([0]*{dense}+[1]*{sparse})"));
    }
}

fn number(fields: &Map<String, Value>, field: &str) -> Option<u64> {
    fields.get(field).and_then(Value::as_u64)
}

fn text<'f>(fields: &'f Map<String, Value>, field: &str) -> &'f str {
    fields.get(field).and_then(Value::as_str).unwrap_or_default()
}
