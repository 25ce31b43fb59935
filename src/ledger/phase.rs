//! Parts of a training step: when a tensor is born, when it is freed.

/// A part of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before and after the step: what lives always.
    Always,
    /// The embedding's forward.
    Embedding,
    /// A layer's forward.
    Forward,
    /// What an encoder does after its last layer.
    EncoderEnd,
    /// The forward of a decoder's embedding, after the encoder.
    DecoderEmbedding,
    /// Final norm, head and loss.
    Loss,
    /// Backward of loss, head and final norm.
    LossBackward,
    /// A layer's backward (with its recomputation).
    Backward,
    /// The backward of a decoder's embedding.
    DecoderEmbeddingBackward,
    /// The backward of an encoder's end.
    EncoderEndBackward,
    /// The embedding's backward: the end of backward.
    EmbeddingBackward,
    /// The optimizer step.
    Optimizer,
}

impl Phase {
    /// The report's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Embedding => "forward:embedding",
            Self::Forward => "forward",
            Self::EncoderEnd => "forward:encoder-end",
            Self::DecoderEmbedding => "forward:decoder-embedding",
            Self::Loss => "forward:loss",
            Self::LossBackward => "backward:loss",
            Self::Backward => "backward",
            Self::DecoderEmbeddingBackward => "backward:decoder-embedding",
            Self::EncoderEndBackward => "backward:encoder-end",
            Self::EmbeddingBackward => "backward:embedding",
            Self::Optimizer => "optimizer",
        }
    }
}
