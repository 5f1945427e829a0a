#pragma once

namespace evener {

/// Of the program and its library, as "0.1.0".
const char* program_version();

}  // namespace evener
