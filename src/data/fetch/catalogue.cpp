#include "data/fetch/catalogue.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/stop.h"
#include "base/web.h"

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

namespace fs = std::filesystem;

constexpr const char* kSumsName = "SHA256SUMS";  // as sha256sum writes and checks it

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::uint64_t bytes_on_disk(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(path, missing);
  return missing ? 0 : bytes;
}

std::map<std::string, std::string> read_sums(const fs::path& folder) {
  constexpr std::uint64_t kLongest = 1U << 20;
  std::map<std::string, std::string> sums;
  if (!is_there(folder / kSumsName)) return sums;
  std::istringstream lines(read_file(folder / kSumsName, kLongest));
  for (std::string hex, name; lines >> hex >> name;) sums[name] = hex;
  return sums;
}

/// Whether all members are there, unchanged since they were extracted. A changed one is an Error.
bool members_there(const CatalogueFile& file, const fs::path& folder, const FetchListener& listener) {
  const auto sums = read_sums(folder);
  for (const ArchiveMember& member : file.members) {
    if (!sums.contains(member.name) || !is_there(folder / member.name)) return false;
  }
  for (const ArchiveMember& member : file.members) {
    const fs::path path = folder / member.name;
    const std::string hex = checksum_of(path, ChecksumKind::kSha256, listener);
    if (hex == sums.at(member.name)) continue;
    throw Error(
        fmt::format("'{}' was changed since it was unpacked (its SHA-256 is {}, '{}' has {}); remove it and run "
                    "the same command again",
                    path.string(), hex, kSumsName, sums.at(member.name)));
  }
  return true;
}

std::uint64_t missing_bytes(const CatalogueFile& file, const fs::path& folder) {
  const fs::path path = folder / file.name;
  std::uint64_t needed = 0;
  if (!is_there(path) && file.bytes) {
    const std::uint64_t part = bytes_on_disk(path.string() + ".part");
    needed = *file.bytes - std::min(part, *file.bytes);
  }
  for (const ArchiveMember& member : file.members) needed += member.bytes;
  return needed;
}

Download download_of(const CatalogueEntry& entry, const CatalogueFile& file, const fs::path& folder,
                     const std::string& mirror) {
  Download download{file.urls, folder / file.name, file.bytes, file.checksum};
  if (!mirror.empty()) {
    download.urls = {mirror + (mirror.ends_with('/') ? "" : "/") + entry.name + "/" + file.name};
  }
  return download;
}

/// "folder/name" -> "name"; archives of data sets have one folder.
std::string plain_name(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

/// Takes an empty folder away again unless it was there before.
class EmptyFolderGuard {
 public:
  explicit EmptyFolderGuard(fs::path folder) : folder_(is_there(folder) ? fs::path() : std::move(folder)) {}
  ~EmptyFolderGuard() {
    std::error_code has_files;
    if (!folder_.empty()) fs::remove(folder_, has_files);
  }
  EmptyFolderGuard(const EmptyFolderGuard&) = delete;
  EmptyFolderGuard& operator=(const EmptyFolderGuard&) = delete;

 private:
  fs::path folder_;
};

void write_member(ArchiveReader& reader, const fs::path& path, std::uint64_t bytes, const FetchListener& listener) {
  write_file_atomically(path, [&](std::ostream& out) {
    std::uint64_t done = 0;
    for (std::string_view piece = reader.read(); !piece.empty(); piece = reader.read()) {
      if (stop_requested()) throw Interrupted("stopped while '" + path.string() + "' was being unpacked");
      out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
      done += piece.size();
      listener.progress({"unpacking", path.filename().string(), done, bytes});
    }
  });
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

void unpack_members(const fs::path& archive, const std::vector<ArchiveMember>& members, const fs::path& folder,
                    const FetchListener& listener) {
  const Descriptor file = open_for_reading(archive);
  std::uint64_t position = 0;
  const auto reader = web().archive([&](char* buffer, std::size_t count) {
    const std::size_t got = read_at(file, archive, position, buffer, count);
    position += got;
    return got;
  });
  std::map<std::string, std::string> sums;
  try {
    for (ArchiveReader::Entry entry; reader->next(entry);) {
      const std::string name = plain_name(entry.name);
      const auto member = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.name == name; });
      if (member == members.end()) continue;
      if (entry.bytes != member->bytes) {
        throw Error(fmt::format("'{}' in it has {} bytes instead of {}", entry.name, entry.bytes, member->bytes));
      }
      write_member(*reader, folder / name, entry.bytes, listener);
      sums[name] = checksum_of(folder / name, ChecksumKind::kSha256, listener);
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error("can't unpack '" + archive.string() + "': " + error.what());
  }
  std::string text;
  for (const ArchiveMember& member : members) {
    if (!sums.contains(member.name)) throw Error("'" + archive.string() + "' has no '" + member.name + "' in it");
    text += sums[member.name] + "  " + member.name + "\n";
  }
  write_file_atomically(folder / kSumsName, text);
}

bool fetch_set(const CatalogueEntry& entry, const fs::path& folder, const std::string& mirror,
               const FetchListener& listener) {
  std::vector<const CatalogueFile*> missing;
  std::uint64_t needed = 0;
  bool fetched = false;
  const EmptyFolderGuard guard(folder);
  for (const CatalogueFile& file : entry.files) {
    if (!file.members.empty() && members_there(file, folder, listener)) continue;
    missing.push_back(&file);
    needed += missing_bytes(file, folder);
  }
  if (needed > 0) require_writable_directory(folder, needed);
  for (const CatalogueFile* file : missing) {
    const Download download = download_of(entry, *file, folder, mirror);
    fetched = fetch_file(download, listener) || fetched || !file->members.empty();
    if (file->members.empty()) continue;
    unpack_members(download.path, file->members, folder, listener);
    std::error_code ignored;
    fs::remove(download.path, ignored);  // what was in it is there and checked
  }
  return fetched;
}

}  // namespace evener::data
