#pragma once

namespace evener {

/// The version of the program and its library, as "0.1.0": that of the newest release that CHANGELOG.md tells of.
const char* program_version();

}  // namespace evener
