// What `evener data fetch` can download: names, addresses, sizes and checksums. A new data set is one entry of
// catalogue.toml.inc. Downloads all files of an entry into a folder, and unpacks archives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/fetch/download.h"

namespace evener::data {

struct ArchiveMember {
  std::string name;  // its path in the archive without the top folder
  std::uint64_t bytes = 0;
};

struct CatalogueFile {
  std::string name;               // its name in the folder of the data set
  std::vector<std::string> urls;  // tried in this order
  std::optional<std::uint64_t> bytes;
  Checksum checksum;
  std::vector<ArchiveMember> members;  // files to extract from a .tar.gz, which is then removed; empty: no archive
};

struct CatalogueEntry {
  std::string name, what, licence;
  std::vector<CatalogueFile> files;
  std::string use;  // a command; {} stands for the folder
};

const std::vector<CatalogueEntry>& fetch_catalogue();

/// Throws UsageError that names the nearest one.
const CatalogueEntry& catalogue_entry(const std::string& name);

/// For an entry whose files were checked: "its checksums are right", or for which file only the beginning of the
/// checksum is known.
std::string checksums_text(const CatalogueEntry& entry);

/// Bytes on the disk once the entry is downloaded, without files of unknown size.
std::uint64_t final_bytes(const CatalogueEntry& entry);

/// Downloads the entry. `mirror`: "" = from the catalogue's addresses; otherwise only from MIRROR/NAME/FILE. Returns
/// false where everything was there already, with right checksums. Throws Error, Interrupted.
bool fetch_set(const CatalogueEntry& entry, const std::filesystem::path& folder, const std::string& mirror = "",
               const FetchListener& listener = {});

/// Extracts `members` from a .tar.gz into `folder` and writes their checksums to "SHA256SUMS" beside them. Throws Error
/// where a member is missing or has another size; other files in the archive are ignored.
void unpack_members(const std::filesystem::path& archive, const std::vector<ArchiveMember>& members,
                    const std::filesystem::path& folder, const FetchListener& listener = {});

}  // namespace evener::data
