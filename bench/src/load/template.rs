//! Requests that differ in one value of fixed length, which may stand in several places.

/// Writes the next value.
pub type Fill = Box<dyn FnMut(&mut Vec<u8>)>;

pub struct Template {
    /// What stands between the values.
    parts: Vec<Vec<u8>>,
    fill: Fill,
    value: Vec<u8>,
    request: Vec<u8>,
}

impl Template {
    /// `hole` stands where the values go.
    pub fn new(text: &[u8], hole: &[u8], fill: Fill) -> Self {
        let mut parts = vec![Vec::new()];
        let mut rest = text;
        while let Some((first, others)) = rest.split_first() {
            if !hole.is_empty() && rest.starts_with(hole) {
                parts.push(Vec::new());
                rest = rest.get(hole.len()..).unwrap_or_default();
            } else {
                parts.last_mut().into_iter().for_each(|part| part.push(*first));
                rest = others;
            }
        }
        Self { parts, fill, value: Vec::new(), request: Vec::new() }
    }

    /// The same each time.
    pub fn fixed(text: &[u8]) -> Self {
        Self::new(text, b"", Box::new(|_| {}))
    }

    pub fn next(&mut self) -> &[u8] {
        self.value.clear();
        (self.fill)(&mut self.value);
        self.request.clear();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                self.request.extend_from_slice(&self.value);
            }
            self.request.extend_from_slice(part);
        }
        &self.request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_where_the_holes_are() {
        let mut number = 0;
        let fill: Fill = Box::new(move |value| {
            number += 1;
            value.extend_from_slice(format!("{number}").as_bytes());
        });
        let mut template = Template::new(b"a?b?", b"?", fill);
        assert_eq!(template.next(), b"a1b1");
        assert_eq!(template.next(), b"a2b2");
        assert_eq!(Template::fixed(b"a?").next(), b"a?");
    }
}
