//! What is said of how ranks share a model.

use super::Text;

/// Layers that stages cannot share evenly.
pub const LAYERS_DO_NOT_DIVIDE: Text = Text::new(
    "pp: {layers} layers do not divide evenly over {stages} stages; the first stages take one more",
    "pp：{layers} 层不能平均分给 {stages} 个流水段；靠前的段各多一层",
);
