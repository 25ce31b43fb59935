//! The fields of `config.json` that matter for memory, with every alias that the supported model types use.
//!
//! These travel in links under their own names; other fields of a whole `config.json` are kept and travel together in
//! `architecture={…}`, except those listed in [`IGNORED`], which never change a size and are dropped without a word.

use serde_json::{Map, Value};

use super::kind::Kind;

/// A field of `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name there.
    pub name: &'static str,
    /// What it accepts; `null` and lists (one item a layer or stage) are accepted besides.
    pub kind: Kind,
}

/// Above any model that exists; products of a few of them stay countable.
const LARGEST: u64 = 1 << 24;
const SIZE: Kind = Kind::Count { min: 0, max: LARGEST };
/// A size without which there is no model.
const WIDTH: Kind = Kind::Count { min: 1, max: LARGEST };
const LAYERS: Kind = Kind::Count { min: 0, max: 10_000 };
const TOKENS: Kind = Kind::Tokens { min: 0, max: 1 << 40 };

macro_rules! fields {
    ($($kind:expr => $($name:ident)+;)+) => { &[$($(Field { name: stringify!($name), kind: $kind },)+)+] };
}

/// Every field that is known by name, the commonest first: the order of links.
pub const FIELDS: &[Field] = fields! {
    Kind::Text => model_type;
    WIDTH => hidden_size;
    LAYERS => num_hidden_layers;
    WIDTH => num_attention_heads num_key_value_heads head_dim intermediate_size vocab_size;
    Kind::Flag => tie_word_embeddings;
    Kind::Text => hidden_act;
    TOKENS => max_position_embeddings sliding_window;
    Kind::Flag => use_sliding_window attention_bias mlp_bias;
    Kind::Any => architectures layer_types;
    // Experts.
    SIZE =>
        num_local_experts num_experts n_routed_experts moe_num_experts num_experts_per_tok moe_topk moe_k
        moe_intermediate_size n_shared_experts num_shared_experts moe_num_shared_experts
        shared_expert_intermediate_size shared_intermediate_size intermediate_size_mlp first_k_dense_replace
        num_dense_layers decoder_sparse_step encoder_sparse_step interleave_moe_layer_step moe_layer_start_index
        moe_layer_end_index moe_layer_interval expert_layer_offset expert_layer_period expert_capacity n_group
        topk_group num_nextn_predict_layers num_sparse_encoder_layers num_sparse_decoder_layers;
    Kind::Any => moe_layer_freq mlp_only_layers ffn_config attn_config;
    Kind::Flag => norm_topk_prob router_bias use_expert_bias add_router_probs is_moe;
    // Latent attention.
    SIZE => q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim qk_head_dim v_head_dim;
    // Older names of the same things.
    LAYERS => n_layer n_layers num_layers;
    SIZE =>
        n_embd n_embed d_model dim n_head n_heads num_heads attention_heads num_kv_heads
        kv_channels n_inner ffn_dim d_ff dff d_inner ffn_hidden_size hidden_dim d_kv embedding_size embed_dim
        word_embed_proj_dim hidden_size_per_layer_input vocab_size_per_layer_input;
    TOKENS => n_positions n_ctx max_seq_len context_length max_source_positions max_target_positions window_size;
    Kind::Text =>
        activation_function hidden_activation dense_act_fn feed_forward_proj mlp_type norm_type position_embedding_type;
    // Encoders, encoder–decoders, vision.
    LAYERS => num_decoder_layers encoder_layers decoder_layers;
    SIZE =>
        encoder_attention_heads decoder_attention_heads
        encoder_ffn_dim decoder_ffn_dim type_vocab_size num_labels relative_attention_num_buckets
        num_mel_bins image_size patch_size num_channels pooler_output_size projection_dim
        num_hidden_groups inner_group_num;
    Kind::Any => hidden_sizes depths text_config vision_config;
    Kind::Number =>
        max_relative_positions position_buckets mlp_ratio expansion_ratio block_ffn_dim_multiplier partial_rotary_factor rotary_pct;
    Kind::Flag => is_encoder_decoder is_decoder add_cross_attention;
    // Switches of modules.
    Kind::Flag =>
        bias use_bias no_bias qkv_bias use_qkv_bias lm_head_bias attention_out_bias conv_bias enable_bias norm_bias
        qk_norm use_qk_norm qk_layernorm multi_query new_decoder_architecture parallel_attn use_parallel_residual
        alibi rotary is_gated_act mlp_gated use_swiglu_ffn do_layer_norm_before tie_embedding relative_attention
        position_biased_input share_att_key;
    SIZE => num_ln_in_parallel_attn rotary_dim sliding_window_pattern global_attn_every_n_layers query_pre_attn_scalar;
    Kind::Number => attn_logit_softcapping final_logit_softcapping logit_scale logits_scaling;
    // State space and convolution.
    SIZE =>
        state_size conv_kernel mamba_d_state mamba_d_conv mamba_expand mamba_d_ssm mamba_n_heads mamba_d_head
        mamba_n_groups attn_layer_offset attn_layer_period full_attention_interval linear_conv_kernel_dim
        linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_value_head_dim conv_L_cache;
    Kind::Any => expand time_step_rank mamba_dt_rank layers_block_type attn_layer_indices;
    // Dropout, which keeps a mask where it is above zero.
    Kind::Number =>
        attention_dropout attn_pdrop resid_pdrop embd_pdrop hidden_dropout hidden_dropout_prob
        attention_probs_dropout_prob dropout_rate classifier_dropout;
};

/// Fields of `config.json` that no tensor depends on: names, token ids, initialisation, positions by formula, sampling.
const IGNORED: &[&str] = &[
    "_name_or_path",
    "_attn_implementation_autoset",
    "auto_map",
    "begin_suppress_tokens",
    "bos_token_id",
    "decoder_start_token_id",
    "do_sample",
    "dtype",
    "eos_token_id",
    "finetuning_task",
    "initializer_factor",
    "initializer_range",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "mask_token_id",
    "max_length",
    "norm_eps",
    "norm_epsilon",
    "pad_token_id",
    "pretraining_tp",
    "rms_norm_eps",
    "rope_scaling",
    "rope_theta",
    "router_aux_loss_coef",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "transformers_version",
    "unk_token_id",
    "use_cache",
];

impl Field {
    /// The field of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Reads what was typed. `None`: not accepted.
    pub(super) fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        match text.as_bytes().first()? {
            // The only way to write what plain text cannot say.
            b'n' if text == "null" => Some(Value::Null),
            b'[' | b'"' => serde_json::from_str(text).ok().or_else(|| self.kind.parse(text)),
            _ => self.kind.parse(text),
        }
    }

    /// Reads the value of a `config.json`. `None`: not accepted.
    pub(super) fn accept(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Array(_) => Some(value.clone()),
            value => self.kind.accept(value),
        }
    }

    /// Writes a value so that [`Field::parse`] reads the same one.
    pub(super) fn show(&self, value: &Value) -> String {
        let plain = self.kind.show(value);
        if self.parse(&plain).as_ref() == Some(value) { plain } else { value.to_string() }
    }
}

/// Reads a whole `config.json` into `into`; each field that cannot be read is handed to `refused`.
pub(super) fn read_all(
    json: Map<String, Value>,
    into: &mut Map<String, Value>,
    mut refused: impl FnMut(&'static Field, &Value),
) {
    for (name, value) in json {
        if IGNORED.contains(&name.as_str()) {
            continue;
        }
        // Only the number of labels is a size; their names may be thousands.
        if name == "id2label" {
            if let Some(labels) = value.as_object() {
                into.entry("num_labels").or_insert_with(|| labels.len().into());
            }
            continue;
        }
        // Of all that describes rotary positions, only the share of a head that they turn is a size.
        if name == "rope_parameters" {
            if let Some(share) = value.get("partial_rotary_factor").filter(|share| share.is_number()) {
                into.entry("partial_rotary_factor").or_insert_with(|| share.clone());
            }
            continue;
        }
        let Some(field) = Field::find(&name) else {
            into.insert(name, value);
            continue;
        };
        match field.accept(&value) {
            Some(value) => drop(into.insert(name, value)),
            None => refused(field, &value),
        }
    }
}
