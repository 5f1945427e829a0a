#include "data/fetch/catalogue.h"

#include <toml++/toml.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace evener::data {
namespace {

constexpr const char* kCatalogue =
#include "data/fetch/catalogue.toml.inc"
    ;

std::string text_in(const toml::table& table, const char* key) {
  return table[key].value<std::string>().value();
}

CatalogueFile file_in(const toml::table& table) {
  CatalogueFile file{.name = text_in(table, "name"), .urls = {}, .bytes = {}, .checksum = {}, .members = {}};
  for (const toml::node& url : *table["urls"].as_array()) file.urls.push_back(url.value<std::string>().value());
  if (const auto bytes = table["bytes"].value<std::int64_t>()) file.bytes = static_cast<std::uint64_t>(*bytes);
  const bool is_md5 = table.contains("md5");
  file.checksum = {is_md5 ? ChecksumKind::kMd5 : ChecksumKind::kSha256, text_in(table, is_md5 ? "md5" : "sha256")};
  if (const toml::array* members = table["members"].as_array()) {
    for (const toml::node& node : *members) {
      const toml::table& member = *node.as_table();
      file.members.push_back(
          {text_in(member, "name"), static_cast<std::uint64_t>(member["bytes"].value<std::int64_t>().value())});
    }
  }
  return file;
}

/// The text is part of the program: what is missing in it is a mistake of ours.
std::vector<CatalogueEntry> read_catalogue() {
  std::vector<CatalogueEntry> entries;
  const toml::table table = toml::parse(std::string_view(kCatalogue));
  for (const toml::node& node : *table["set"].as_array()) {
    const toml::table& set = *node.as_table();
    CatalogueEntry entry{.name = text_in(set, "name"),
                         .what = text_in(set, "what"),
                         .licence = text_in(set, "licence"),
                         .files = {},
                         .use = text_in(set, "use")};
    for (const toml::node& file : *set["file"].as_array()) entry.files.push_back(file_in(*file.as_table()));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

const std::vector<CatalogueEntry>& fetch_catalogue() {
  static const std::vector<CatalogueEntry> entries = read_catalogue();
  return entries;
}

const CatalogueEntry& catalogue_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : fetch_catalogue()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError(unknown_name_message("data set", name, names));
}

std::string checksums_text(const CatalogueEntry& entry) {
  std::string partly;
  for (const CatalogueFile& file : entry.files) {
    const std::size_t known = file.checksum.hex.size(), whole = file.checksum.kind == ChecksumKind::kMd5 ? 32 : 64;
    if (known == whole) continue;
    partly += "; of the " + std::string(checksum_name(file.checksum.kind)) + " of '" + file.name + "' only " +
              std::to_string(known) + " of " + std::to_string(whole) +
              " digits are known, which tells of damage and not of forgery: they are right";
  }
  const bool all_partly = static_cast<std::size_t>(std::count(partly.begin(), partly.end(), ';')) == entry.files.size();
  return all_partly ? partly.substr(2)
                    : (partly.empty() ? "its checksums are right" : "its other checksums are right" + partly);
}

std::uint64_t final_bytes(const CatalogueEntry& entry) {
  std::uint64_t total = 0;
  for (const CatalogueFile& file : entry.files) {
    if (file.members.empty()) total += file.bytes.value_or(0);
    for (const ArchiveMember& member : file.members) total += member.bytes;
  }
  return total;
}

}  // namespace evener::data
