//! The answer as table, JSON, CSV and Markdown.
