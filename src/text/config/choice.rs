//! A short name for every choice.

use crate::config::{
    Attention, DataParallel, GradDtype, Key, LoraDtype, Loss, Method, Offload, Optimizer, OptimizerImpl,
    Precision, Quantization, Recompute, Schedule, Stack, Theme, Units, View,
};
use crate::text::Text;

/// Short name of one of a key's choices; the word itself where the key has no list.
pub fn choice(key: Key, word: &'static str) -> Text {
    let named = match key {
        Key::Method => Method::parse(word).map(method),
        Key::LoraDtype => LoraDtype::parse(word).map(lora_dtype),
        Key::Quantization => Quantization::parse(word).map(quantization),
        Key::Precision => Precision::parse(word).map(precision),
        Key::GradDtype => GradDtype::parse(word).map(grad_dtype),
        Key::Optimizer => Optimizer::parse(word).map(optimizer),
        Key::OptimizerImpl => OptimizerImpl::parse(word).map(optimizer_impl),
        Key::Attention => Attention::parse(word).map(attention),
        Key::Recompute => Recompute::parse(word).map(recompute),
        Key::Loss => Loss::parse(word).map(loss),
        Key::Stack => Stack::parse(word).map(stack),
        Key::Schedule => Schedule::parse(word).map(schedule),
        Key::DataParallel => DataParallel::parse(word).map(data_parallel),
        Key::Offload => Offload::parse(word).map(offload),
        Key::Theme => Theme::parse(word).map(theme),
        Key::Units => Units::parse(word).map(units),
        Key::View => View::parse(word).map(view),
        Key::Lang => Some(if word == "zh" { Text::same("中文") } else { Text::same("English") }),
        _ => None,
    };
    named.unwrap_or(Text::same(word))
}

const fn method(value: Method) -> Text {
    match value {
        Method::Full => Text::new("Full fine-tuning", "全参数训练"),
        Method::Lora => Text::same("LoRA"),
        Method::Qlora => Text::same("QLoRA"),
        Method::Freeze => Text::new("Part of the model frozen", "冻结部分参数"),
    }
}

const fn lora_dtype(value: LoraDtype) -> Text {
    match value {
        LoraDtype::Fp32 => Text::new("fp32 (peft's default)", "fp32（peft 默认）"),
        LoraDtype::Bf16 => Text::same("bf16"),
    }
}

const fn quantization(value: Quantization) -> Text {
    match value {
        Quantization::None => Text::new("None", "不量化"),
        Quantization::Int8 => Text::new("8-bit integers", "INT8"),
        Quantization::Nf4 => Text::new("4-bit NF4", "4 位 NF4"),
        Quantization::Nf4Double => Text::new("4-bit NF4, double quantisation", "4 位 NF4，双重量化"),
    }
}

const fn precision(value: Precision) -> Text {
    match value {
        Precision::Bf16Mixed => Text::new("bf16 with an fp32 master copy", "bf16 + fp32 主权重"),
        Precision::Fp16Mixed => Text::new("fp16 with an fp32 master copy", "fp16 + fp32 主权重"),
        Precision::Bf16Autocast => Text::new("bf16 autocast over fp32 weights", "fp32 权重 + bf16 autocast"),
        Precision::Fp16Autocast => Text::new("fp16 autocast over fp32 weights", "fp32 权重 + fp16 autocast"),
        Precision::Fp32 => Text::same("fp32"),
        Precision::Bf16 => Text::new("Pure bf16", "纯 bf16"),
        Precision::Fp16 => Text::new("Pure fp16", "纯 fp16"),
        Precision::Fp8Mixed => {
            Text::new("fp8 matrix products with an fp32 master copy", "fp8 矩阵乘 + fp32 主权重")
        }
    }
}

const fn grad_dtype(value: GradDtype) -> Text {
    match value {
        GradDtype::Auto => Text::new("As precision and stack say", "由精度与框架决定"),
        GradDtype::Fp32 => Text::same("fp32"),
        GradDtype::Bf16 => Text::same("bf16"),
        GradDtype::Fp16 => Text::same("fp16"),
    }
}

const fn optimizer(value: Optimizer) -> Text {
    match value {
        Optimizer::Adamw => Text::same("AdamW"),
        Optimizer::Adamw8bit => Text::new("AdamW, 8-bit states", "AdamW（8 位状态）"),
        Optimizer::AdamwPaged8bit => Text::new("AdamW, paged 8-bit states", "AdamW（分页 8 位状态）"),
        Optimizer::Sgd => Text::same("SGD"),
        Optimizer::SgdMomentum => Text::new("SGD with momentum", "SGD + 动量"),
        Optimizer::Adafactor => Text::same("Adafactor"),
        Optimizer::Lion => Text::same("Lion"),
        Optimizer::Muon => Text::same("Muon"),
        Optimizer::AdamMini => Text::same("Adam-mini"),
        Optimizer::Galore => Text::same("GaLore"),
        Optimizer::Apollo => Text::same("APOLLO"),
        Optimizer::Lomo => Text::same("LOMO"),
    }
}

const fn optimizer_impl(value: OptimizerImpl) -> Text {
    match value {
        OptimizerImpl::Auto => Text::new("What the framework picks", "框架默认"),
        OptimizerImpl::Foreach => {
            Text::new("foreach (one more copy while stepping)", "foreach（更新时多一份临时副本）")
        }
        OptimizerImpl::Fused => Text::new("Fused (no temporaries)", "融合（无临时张量）"),
        OptimizerImpl::ForLoop => Text::new("Tensor by tensor", "逐张量循环"),
        OptimizerImpl::InBackward => Text::new("Within backward", "在反向传播中更新"),
    }
}

const fn attention(value: Attention) -> Text {
    match value {
        Attention::Sdpa => Text::new("SDPA (PyTorch's choice)", "SDPA（PyTorch 自选）"),
        Attention::Flash => Text::new("Flash attention", "FlashAttention"),
        Attention::Eager => Text::new("Eager (scores held)", "eager（保留注意力分数）"),
    }
}

const fn recompute(value: Recompute) -> Text {
    match value {
        Recompute::None => Text::new("Off", "关闭"),
        Recompute::Selective => Text::new("Selective", "选择性重计算"),
        Recompute::Full => Text::new("Every layer in full", "逐层完整重计算"),
    }
}

const fn loss(value: Loss) -> Text {
    match value {
        Loss::Standard => Text::new("Standard", "标准"),
        Loss::Chunked => Text::new("In chunks", "分块"),
        Loss::Fused => Text::new("Fused (logits never held)", "融合（不保留 logits）"),
    }
}

const fn stack(value: Stack) -> Text {
    match value {
        Stack::Transformers => Text::same("Hugging Face Transformers"),
        Stack::MegatronCore => Text::same("Megatron-Core"),
        Stack::Torchtitan => Text::same("torchtitan"),
    }
}

const fn schedule(value: Schedule) -> Text {
    match value {
        Schedule::OneFOneB => Text::same("1F1B"),
        Schedule::Gpipe => Text::same("GPipe"),
        Schedule::Interleaved => Text::new("Interleaved 1F1B", "交错式 1F1B"),
        Schedule::ZeroBubble => Text::new("Zero bubble", "零气泡"),
    }
}

const fn data_parallel(value: DataParallel) -> Text {
    match value {
        DataParallel::Ddp => Text::new("DDP (replicas)", "DDP（完整副本）"),
        DataParallel::Zero1 => Text::new("ZeRO-1 (states sharded)", "ZeRO-1（切分优化器状态）"),
        DataParallel::Zero2 => Text::new("ZeRO-2 (and gradients)", "ZeRO-2（再切分梯度）"),
        DataParallel::Zero3 => Text::new("ZeRO-3 (and parameters)", "ZeRO-3（再切分参数）"),
        DataParallel::Fsdp => Text::new("FSDP (all sharded)", "FSDP（全切分）"),
        DataParallel::FsdpGradOp => {
            Text::new("FSDP, gradients and states only", "FSDP（仅切分梯度与优化器状态）")
        }
        DataParallel::Hsdp => {
            Text::new("HSDP (sharded within, replicated between groups)", "HSDP（组内切分、组间副本）")
        }
    }
}

const fn offload(value: Offload) -> Text {
    match value {
        Offload::Optimizer => Text::new("Optimizer states", "优化器状态"),
        Offload::Parameters => Text::new("Parameters", "参数"),
        Offload::Activations => Text::new("Activations", "激活值"),
    }
}

const fn theme(value: Theme) -> Text {
    match value {
        Theme::Auto => Text::new("As the system", "跟随系统"),
        Theme::Light => Text::new("Light", "浅色"),
        Theme::Dark => Text::new("Dark", "深色"),
    }
}

const fn units(value: Units) -> Text {
    match value {
        Units::Gib => Text::new("GiB (2³⁰ bytes)", "GiB（2³⁰ 字节）"),
        Units::Gb => Text::new("GB (10⁹ bytes)", "GB（10⁹ 字节）"),
    }
}

const fn view(value: View) -> Text {
    match value {
        View::Detailed => Text::new("Detailed", "精算"),
        View::Quick => Text::new("Quick", "速算"),
        View::Diagnose => Text::new("Diagnose", "诊断"),
    }
}
