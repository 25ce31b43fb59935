//! Modules of which only the parameters are known, with sizes in place of symbols.

use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, Body, Embedding, Head, Layer, Param, Sublayer};
use crate::ledger::{Dim, Group, Symbols};

/// Paths of a module's weight and bias.
macro_rules! paths {
    ($module:literal) => {
        (concat!($module, ".weight"), concat!($module, ".bias"))
    };
}
pub(super) use paths;

/// Paths of a weight and its bias.
pub(super) type Paths = (&'static str, &'static str);

/// A list of parameters that grows.
#[derive(Debug)]
pub(super) struct Tensors {
    group: Group,
    list: Vec<Param>,
}

impl Tensors {
    /// An empty list whose next tensors belong to a group.
    pub(super) const fn new(group: Group) -> Self {
        Self { group, list: Vec::new() }
    }

    /// What comes next belongs to another group.
    pub(super) const fn group(&mut self, group: Group) -> &mut Self {
        self.group = group;
        self
    }

    pub(super) fn tensor(&mut self, path: &'static str, axes: &[u64]) -> &mut Self {
        let mut dims = [Dim::Const(1); 5];
        for (dim, axis) in dims.iter_mut().zip(axes) {
            *dim = Dim::of(*axis);
        }
        self.list.push(Param::new(path, self.group, &dims[..axes.len().min(5)]));
        self
    }

    /// `[out, in]`, and `[out]` with a bias.
    pub(super) fn linear(&mut self, (weight, bias): Paths, out: u64, inputs: u64, biased: bool) -> &mut Self {
        self.tensor(weight, &[out, inputs]);
        if biased { self.tensor(bias, &[out]) } else { self }
    }

    /// Any weight with a bias as long as its first axis.
    pub(super) fn conv(&mut self, (weight, bias): Paths, axes: &[u64], biased: bool) -> &mut Self {
        self.tensor(weight, axes);
        if biased { self.tensor(bias, &axes[..1]) } else { self }
    }

    /// A scale, and with a bias a shift.
    pub(super) fn norm(&mut self, paths: Paths, width: u64, biased: bool) -> &mut Self {
        self.conv(paths, &[width], biased)
    }

    pub(super) fn params(&mut self) -> Vec<Param> {
        std::mem::take(&mut self.list)
    }

    /// A layer of these alone.
    pub(super) fn layer(&mut self) -> Layer {
        let body = Body::Counted(self.params());
        let sublayer =
            Sublayer { before: None, body, after: None, on_sum: None, dropout: 0.0, dropped_by_layer: false };
        Layer { sublayers: vec![sublayer], parallel: false }
    }
}

/// A model of counted parts.
pub(super) fn model(
    symbols: Symbols,
    embedding: Vec<Param>,
    (kinds, order): (Vec<Layer>, Vec<u8>),
    head: Head,
    tied: bool,
) -> Architecture {
    Architecture {
        model_type: String::new(),
        symbols,
        kinds,
        order,
        embedding: Embedding { other: embedding, ..Embedding::default() },
        final_norm: None,
        head,
        tied,
        final_soft_cap: false,
        positional_mask: false,
        encoder: None,
        counted_only: true,
    }
}

/// The kind of each layer, from a list of words (`layer_types`) where the file has one of the right length.
pub(super) fn kinds<'j>(fields: &Fields<'j>, layers: u64) -> Option<Vec<&'j str>> {
    ["layer_types", "layers_block_type"]
        .iter()
        .filter_map(|key| fields.words(key))
        .find(|list| list.len() as u64 == layers)
}
