// Gzipped tar archives by libarchive.
#pragma once

#include <memory>

#include "base/web.h"

namespace evener::data::fetch_module {

/// See Web::archive().
std::unique_ptr<ArchiveReader> open_tar_gz(ArchiveSource source, const ArchiveLimits& limits);

}  // namespace evener::data::fetch_module
