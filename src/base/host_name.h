// What this machine calls itself.
#pragma once

#include <string>

namespace evener {

std::string host_name();

}  // namespace evener
