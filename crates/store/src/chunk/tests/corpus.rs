//! This repository's own files are cut as they are.

use std::path::{Path, PathBuf};

use super::super::{ContentKind, sections};
use super::assert_tiles;

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            walk(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

#[test]
fn the_files_of_this_crate_tile_and_have_titles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(root, &mut files);
    let mut sources = 0;
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let kind = ContentKind::detect(path.to_str(), None, "");
        let found = sections(kind, path.to_str(), &text);
        assert_tiles(kind, &text, &found);
        assert!(found.iter().all(|section| !section.title.is_empty()), "{}", path.display());
        sources += usize::from(kind.name() == "rust");
    }
    assert!(sources > 10, "the walk found the sources");
}
