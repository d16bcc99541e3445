//! Two texts, line by line: what is only in one of them.

/// Lines shown at most.
const MOST: usize = 40;

/// Lines that differ, `- ` for those of the old text only and `+ ` for those of the new one, in order.
pub(super) fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Length of the longest common subsequence of the rest of both, from each pair of lines on.
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            lines.push(format!("- {}", old[i].trim()));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j].trim()));
            j += 1;
        }
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("… and {more} more lines"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn only_what_differs() {
        assert_eq!(difference("a\nb\nc", "a\n  x\nc\nd"), "- b\n+ x\n+ d");
        assert_eq!(difference("a", "a"), "");
        assert_eq!(difference("", "a\nb"), "+ a\n+ b");
        let many: Vec<String> = (0..60).map(|i| i.to_string()).collect();
        assert!(difference("", &many.join("\n")).ends_with("… and 20 more lines"));
    }
}
