//! Numbers → tables, CSV, JSON, SVG plots, one self-contained HTML page.
