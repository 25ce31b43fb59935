//! Sentences of the printed reports and the headline.
