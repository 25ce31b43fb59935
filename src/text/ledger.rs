//! Names of blocks, groups, phases and verdicts, shared by figure, page and printed reports.

use super::{Lang, Text};
use crate::estimate::Verdict;
use crate::ledger::{Block, Group};
use crate::timeline::{Moment, Phase};

/// A block of the figure, capitalised as a heading.
pub const fn block(block: Block) -> Text {
    match block {
        Block::Parameters => Text::new("Parameters", "参数"),
        Block::Gradients => Text::new("Gradients", "梯度"),
        Block::Optimizer => Text::new("Optimizer states", "优化器状态"),
        Block::Activations => Text::new("Activations", "激活值"),
        Block::Overhead => Text::new("Temporary", "临时张量"),
    }
}

/// A block within a sentence.
pub const fn block_inline(block: Block) -> Text {
    match block {
        Block::Parameters => Text::new("parameters", "参数"),
        Block::Gradients => Text::new("gradients", "梯度"),
        Block::Optimizer => Text::new("optimizer states", "优化器状态"),
        Block::Activations => Text::new("activations", "激活值"),
        Block::Overhead => Text::new("temporary tensors", "临时张量"),
    }
}

/// One sentence on what a block holds.
pub const fn block_help(block: Block) -> Text {
    match block {
        Block::Parameters => Text::new(
            "The weights as the forward pass reads them. A master copy counts as optimizer state.",
            "前向计算所读的权重。主权重副本计入优化器状态。",
        ),
        Block::Gradients => Text::new(
            "One value per trainable weight, born in its layer's backward.",
            "每个可训练权重对应一个值，在该层反向时产生。",
        ),
        Block::Optimizer => Text::new(
            "Moments, fp32 master copies and step counters: kept between steps.",
            "动量、FP32 主权重副本与步数计数，步与步之间一直保留。",
        ),
        Block::Activations => Text::new(
            "What backward will read: kept from a layer's forward to its backward.",
            "供反向读取的张量，从该层前向保留到反向。",
        ),
        Block::Overhead => Text::new(
            "Working tensors of the running operator, inputs, buffers and library workspaces.",
            "当前算子的中间张量、输入、缓冲区与计算库工作区。",
        ),
    }
}

/// Part of the model.
pub const fn group(group: Group) -> Text {
    match group {
        Group::Embedding => Text::new("Embedding", "词嵌入"),
        Group::Residual => Text::new("Layer inputs", "层输入"),
        Group::Norm => Text::new("Norms", "归一化"),
        Group::Attention => Text::new("Attention", "注意力"),
        Group::CrossAttention => Text::new("Cross-attention", "交叉注意力"),
        Group::Mlp => Text::new("MLP", "MLP"),
        Group::Experts => Text::new("Experts", "专家"),
        Group::SharedExperts => Text::new("Shared experts", "共享专家"),
        Group::Router => Text::new("Router", "路由"),
        Group::FinalNorm => Text::new("Final norm", "末层归一化"),
        Group::LmHead => Text::new("LM head", "输出头"),
        Group::Adapter => Text::new("Adapters", "适配器"),
        Group::Loss => Text::new("Loss", "损失"),
        Group::Other => Text::new("Other", "其他"),
    }
}

/// Part of the training step, as a noun.
pub const fn phase(phase: Phase) -> Text {
    match phase {
        Phase::Always => Text::new("between steps", "步与步之间"),
        Phase::Embedding => Text::new("forward of the embedding", "词嵌入的前向"),
        Phase::Forward => Text::new("forward", "前向"),
        Phase::EncoderEnd => Text::new("end of the encoder", "编码器末端"),
        Phase::DecoderEmbedding => Text::new("forward of the decoder's embedding", "解码器词嵌入的前向"),
        Phase::Loss => Text::new("loss", "损失计算"),
        Phase::LossBackward => Text::new("backward of the loss", "损失的反向"),
        Phase::Backward => Text::new("backward", "反向"),
        Phase::DecoderEmbeddingBackward => {
            Text::new("backward of the decoder's embedding", "解码器词嵌入的反向")
        }
        Phase::EncoderEndBackward => Text::new("backward of the encoder's end", "编码器末端的反向"),
        Phase::EmbeddingBackward => Text::new("backward of the embedding", "词嵌入的反向"),
        Phase::Optimizer => Text::new("optimizer step", "优化器更新"),
    }
}

const FORWARD_OF: Text = Text::new("forward of layer {layer}", "第 {layer} 层的前向");
const BACKWARD_OF: Text = Text::new("backward of layer {layer}", "第 {layer} 层的反向");

/// A moment as a noun, `backward of layer 31`; layers count from 0 as in the framework's module names.
pub fn moment(moment: Moment, lang: Lang) -> String {
    match (moment.phase, moment.layer) {
        (Phase::Forward, Some(layer)) => FORWARD_OF.fill(lang, &[("layer", &layer)]),
        (Phase::Backward, Some(layer)) => BACKWARD_OF.fill(lang, &[("layer", &layer)]),
        (other, _) => phase(other).get(lang).to_owned(),
    }
}

/// Whether it fits, in a word or two.
pub const fn verdict(verdict: Verdict) -> Text {
    match verdict {
        Verdict::Yes => Text::new("fits", "放得下"),
        Verdict::Tight => Text::new("tight", "勉强"),
        Verdict::No => Text::new("does not fit", "放不下"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Lang, Moment, Phase, moment};

    #[test]
    fn a_moment_names_its_layer_where_it_has_one() {
        let last = Moment { phase: Phase::Backward, layer: Some(31) };
        assert_eq!(moment(last, Lang::En), "backward of layer 31");
        assert_eq!(moment(last, Lang::Zh), "第 31 层的反向");
        assert_eq!(moment(Moment { phase: Phase::LossBackward, layer: None }, Lang::Zh), "损失的反向");
    }
}
