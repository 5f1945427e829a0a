// Downloads everything of one entry of the catalogue into a folder, and unpacks archives.
#pragma once

#include <filesystem>
#include <string>

#include "data/fetch/catalogue.h"
#include "data/fetch/download.h"

namespace evener::data {

/// `mirror`: "" = the catalogue's addresses; else its files are taken from MIRROR/NAME/FILE and from nowhere else.
/// False: everything was there, with right checksums. Throws Error, Interrupted.
bool fetch_set(const CatalogueEntry& entry, const std::filesystem::path& folder, const std::string& mirror = "",
               const FetchListener& listener = {});

/// Takes the members out of a .tar.gz into `folder` and writes their checksums to "SHA256SUMS" beside them. All of them
/// have to be in it, with their sizes; whatever else it has is passed over.
void unpack_members(const std::filesystem::path& archive, const std::vector<ArchiveMember>& members,
                    const std::filesystem::path& folder, const FetchListener& listener = {});

}  // namespace evener::data
