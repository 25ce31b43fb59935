//! How the fields of [`Config`](super::Config) hold a [`Value`].

use serde_json::Value;

use super::choices::{
    Attention, DataParallel, GradDtype, LoraDtype, Loss, Method, Offload, Optimizer, OptimizerImpl,
    Precision, Quantization, Recompute, Schedule, Stack, Theme, Units, View,
};
use crate::text::Lang;

/// A field that can be shown as a [`Value`] and set from one. `Null` is “not given”.
pub(super) trait Slot {
    /// The value held.
    fn view(&self) -> Value;
    /// Holds a value that the key's kind has accepted; another is ignored.
    fn put(&mut self, value: &Value);
}

impl Slot for u64 {
    fn view(&self) -> Value {
        (*self).into()
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_u64().unwrap_or(*self);
    }
}

impl Slot for Option<u64> {
    fn view(&self) -> Value {
        self.map_or(Value::Null, Value::from)
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_u64();
    }
}

impl Slot for Option<f64> {
    fn view(&self) -> Value {
        self.map_or(Value::Null, Value::from)
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_f64();
    }
}

impl Slot for bool {
    fn view(&self) -> Value {
        (*self).into()
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_bool().unwrap_or(*self);
    }
}

impl Slot for String {
    fn view(&self) -> Value {
        self.as_str().into()
    }

    fn put(&mut self, value: &Value) {
        if let Some(text) = value.as_str() {
            text.clone_into(self);
        }
    }
}

impl Slot for Option<String> {
    fn view(&self) -> Value {
        self.as_deref().map_or(Value::Null, Value::from)
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_str().map(str::to_owned);
    }
}

impl Slot for Option<Lang> {
    fn view(&self) -> Value {
        self.map_or(Value::Null, |lang| lang.code().into())
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_str().and_then(Lang::parse);
    }
}

impl Slot for Vec<Offload> {
    fn view(&self) -> Value {
        let words: Vec<_> =
            Offload::ALL.iter().filter(|part| self.contains(part)).map(|part| part.word()).collect();
        words.join(",").into()
    }

    fn put(&mut self, value: &Value) {
        *self = value.as_str().unwrap_or_default().split(',').filter_map(Offload::parse).collect();
    }
}

macro_rules! choice_slots {
    ($($name:ident)+) => { $(
        impl Slot for $name {
            fn view(&self) -> Value {
                self.word().into()
            }

            fn put(&mut self, value: &Value) {
                if let Some(choice) = value.as_str().and_then(Self::parse) {
                    *self = choice;
                }
            }
        }
    )+ };
}

choice_slots! {
    Method LoraDtype Quantization Precision GradDtype Optimizer OptimizerImpl Attention Recompute Loss Stack Schedule
    DataParallel Theme Units View
}
