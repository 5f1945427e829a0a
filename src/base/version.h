#pragma once

namespace evener {

/// Of the program and its library, as "0.1.0": the newest release that CHANGELOG.md tells of.
const char* program_version();
/// When that was released, as "2026-11-27".
const char* program_release_date();

}  // namespace evener
