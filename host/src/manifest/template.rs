//! What the manifest says of a component with variables in it: text with `{{ name }}` for a variable of the application.

use std::collections::BTreeMap;

/// A parsed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

impl Template {
    /// Reads a value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) =
                after.split_once("}}").ok_or_else(|| format!("`{text}` has `{{{{` without `}}}}`"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Variable(name.trim().to_owned()));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// The variables it refers to.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Whether it is the same whatever the variables are.
    pub fn is_literal(&self) -> bool {
        self.variables().next().is_none()
    }

    /// The text with every variable replaced; one without a value becomes empty, but none can be:
    /// the manifest refuses unknown names and the start refuses missing values.
    pub fn fill(&self, values: &BTreeMap<String, String>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Variable(name) => values.get(name).map_or("", String::as_str),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled() {
        let values = BTreeMap::from([("a".into(), "1".into()), ("b".into(), "{{ a }}".into())]);
        let fill = |text: &str| Template::parse(text).unwrap().fill(&values);
        assert_eq!(fill(""), "");
        assert_eq!(fill("plain } text {"), "plain } text {");
        assert_eq!(fill("{{a}}-{{ a }}"), "1-1");
        assert_eq!(fill("{{ b }}"), "{{ a }}", "a value is never read again");
    }

    #[test]
    fn unclosed_is_refused() {
        assert!(Template::parse("x {{ a").is_err());
    }
}
