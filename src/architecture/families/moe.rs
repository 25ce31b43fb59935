//! Mixtures of experts in a decoder: one description, of which each type fills the places.

use super::Switch;
use crate::architecture::fields::Fields;
use crate::architecture::weights::Names;
use crate::architecture::{Activation, Body, GateUp, GatedMlp, Linear, Moe, Param, Routing};
use crate::ledger::{Dim, Symbol, Symbols};

/// Width of the shared experts together.
pub(super) const SHARED: Dim = Dim::Sym(Symbol::Shared);

/// A mixture of experts in a decoder's layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experts {
    /// Fields: how many, how many serve a token, how wide.
    pub(super) count: &'static str,
    pub(super) top: &'static str,
    pub(super) width: &'static str,
    pub(super) router: Names,
    pub(super) router_bias: bool,
    pub(super) routing: Routing,
    /// Whether the weights of the chosen ones are divided by their sum, where the file can say so.
    pub(super) renormalised: Switch,
    pub(super) gate_up: Names,
    pub(super) down: Names,
    pub(super) biased: bool,
    pub(super) shared: Shared,
    pub(super) shared_names: [Names; 3],
    pub(super) shared_gate: Option<Names>,
    pub(super) correction: Option<Param>,
    pub(super) dense: Dense,
}

/// How wide the shared experts are together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shared {
    None,
    /// This many of the routed experts' width.
    Count(&'static str),
    /// The field; 0 is none.
    Width(&'static str),
}

/// Which layers have a dense feed-forward instead.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dense {
    None,
    /// The first few: the field, or this many.
    First(&'static str, u64),
    /// Those of `mlp_only_layers`, and all but each `decoder_sparse_step`-th.
    Step,
    /// All but each n-th.
    Interleaved(&'static str),
}

impl Experts {
    /// Reads the sizes into `symbols`. The outer `None`: a field is missing; the inner: there are no experts.
    #[expect(clippy::option_option, reason = "two kinds of nothing, as said above")]
    #[inline(never)] // apart: a first visit has none
    pub(super) fn compose(&self, fields: &mut Fields, symbols: &mut Symbols) -> Option<Option<Body>> {
        let count = fields.needed(self.count);
        let top = fields.needed(self.top);
        let width = fields.needed(self.width);
        let (count, top, width) = (count?, top?, width?);
        let shared = match self.shared {
            Shared::None => 0,
            Shared::Count(key) => fields.count(key).saturating_mul(width),
            Shared::Width(key) => fields.count(key),
        };
        for (symbol, size) in
            [(Symbol::E, count), (Symbol::Top, top.min(count)), (Symbol::M, width), (Symbol::Shared, shared)]
        {
            symbols.set(symbol, size);
        }
        let [gate, up, down] = self.shared_names.map(|names| Linear::new(names, false));
        let shared = (shared > 0).then_some(GatedMlp {
            width: SHARED,
            gate_up: GateUp::Separate([gate, up]),
            act: Activation::Kernel,
            down,
            dropout: 0.0,
            norm: None,
        });
        Some(Some(Body::Moe(Moe {
            router: Linear::new(self.router, self.router_bias),
            routing: match self.routing {
                Routing::SigmoidFp32Renormalised if !self.renormalised.read(fields) => Routing::SigmoidFp32,
                Routing::SoftmaxRenormalisedCast if !self.renormalised.read(fields) => Routing::SoftmaxCast,
                other => other,
            },
            gate_up: Linear::new(self.gate_up, self.biased),
            down: Linear::new(self.down, self.biased),
            shared_gate: self.shared_gate.filter(|_| shared.is_some()).map(|names| Linear::new(names, false)),
            shared,
            correction: self.correction,
        })))
    }

    /// Which layers have experts.
    pub(super) fn sparse(&self, fields: &mut Fields, layers: u64) -> Sparse {
        if let Some(types) = fields.words("mlp_layer_types").filter(|types| types.len() as u64 == layers) {
            let dense = types.iter().zip(0..).filter(|(kind, _)| **kind == "dense");
            return Sparse { from: 0, each: 1, dense: dense.map(|(_, layer)| layer).collect() };
        }
        let (from, each, dense) = match self.dense {
            Dense::None => (0, 1, Vec::new()),
            Dense::First(key, _) if fields.present(key, false) => (fields.count(key), 1, Vec::new()),
            Dense::First(_, default) => (default, 1, Vec::new()),
            Dense::Step => {
                (0, fields.size("decoder_sparse_step").unwrap_or(1), fields.indices("mlp_only_layers"))
            }
            Dense::Interleaved(key) => (0, fields.size(key).unwrap_or(1), Vec::new()),
        };
        Sparse { from, each, dense }
    }
}

/// Which layers have experts.
pub(super) struct Sparse {
    from: u64,
    each: u64,
    dense: Vec<u64>,
}

impl Sparse {
    pub(super) fn holds(&self, layer: u64) -> bool {
        layer >= self.from && (layer + 1).is_multiple_of(self.each) && !self.dense.contains(&layer)
    }
}
