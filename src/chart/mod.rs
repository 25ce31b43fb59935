//! Figures, written once over plotters' `DrawingBackend`.
