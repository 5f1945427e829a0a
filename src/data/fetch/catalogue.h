// What `evener data fetch` can download: names, addresses, sizes and checksums. A new data set is one entry here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/fetch/download.h"

namespace evener::data {

struct ArchiveMember {
  std::string name;  // without the archive's folder
  std::uint64_t bytes = 0;
};

struct CatalogueFile {
  std::string name;               // where it lies afterwards, in the folder of the data set
  std::vector<std::string> urls;  // tried in this order
  std::optional<std::uint64_t> bytes;
  Checksum checksum;
  std::vector<ArchiveMember> members;  // of a .tar.gz: taken out of it, and the archive is removed
};

struct CatalogueEntry {
  std::string name, what, licence;
  std::vector<CatalogueFile> files;
  std::string use;  // a command; {} stands for the folder
};

const std::vector<CatalogueEntry>& fetch_catalogue();

/// Throws UsageError that names the nearest one.
const CatalogueEntry& catalogue_entry(const std::string& name);

/// What can be said of an entry whose checksums fit: "its checksums are right", or of which file only the beginning of
/// one is known.
std::string checksums_text(const CatalogueEntry& entry);

/// What it takes on the disk once it is there; unknown sizes left out.
std::uint64_t final_bytes(const CatalogueEntry& entry);

}  // namespace evener::data
