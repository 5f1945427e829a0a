// Downloads all files of an entry of the catalogue into a folder, and unpacks archives.
#pragma once

#include <filesystem>
#include <string>

#include "data/fetch/catalogue.h"
#include "data/fetch/download.h"

namespace evener::data {

/// Downloads the entry. `mirror`: "" = from the catalogue's addresses; otherwise only from MIRROR/NAME/FILE. Returns
/// false where everything was there already, with right checksums. Throws Error, Interrupted.
bool fetch_set(const CatalogueEntry& entry, const std::filesystem::path& folder, const std::string& mirror = "",
               const FetchListener& listener = {});

/// Extracts `members` from a .tar.gz into `folder` and writes their checksums to "SHA256SUMS" beside them. Throws Error
/// where a member is missing or has another size; other files in the archive are ignored.
void unpack_members(const std::filesystem::path& archive, const std::vector<ArchiveMember>& members,
                    const std::filesystem::path& folder, const FetchListener& listener = {});

}  // namespace evener::data
