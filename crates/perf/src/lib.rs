//! fullpipe perf.
