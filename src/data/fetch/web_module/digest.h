// Checksums by libcrypto.
#pragma once

#include <memory>

#include "base/web.h"

namespace evener::data::fetch_module {

std::unique_ptr<Digest> make_digest(ChecksumKind kind);

}  // namespace evener::data::fetch_module
