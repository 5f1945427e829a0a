#include "data/open/split_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "base/random.h"
#include "data/each_index.h"
#include "data/locations.h"
#include "weights/safetensors.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "split.safetensors";
constexpr const char* kFormat = "evener split 1";
constexpr std::array<const char*, 3> kPartNames = {"training", "validation", "test"};

/// A sample as it is found in data.
struct Identity {
  std::optional<std::uint64_t> content;  // nothing: it wasn't read
  std::uint64_t name = 0;
};

/// A folder below which images have the same names after it was moved.
std::string folder_of(const std::string& location) {
  std::error_code none;
  const fs::path path = fs::path(location).lexically_normal();
  std::string folder = (fs::is_directory(path, none) ? path : path.parent_path()).string();
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  return folder == "./" ? "" : folder;
}

std::vector<Identity> identities_of(const Dataset& dataset, const std::string& location, int threads) {
  std::vector<std::string> folders;
  for (const std::string& each : locations_in(location)) folders.push_back(folder_of(each));
  std::vector<Identity> identities(dataset.size());
  for_each_index(dataset.size(), threads, [&](std::size_t i) {
    const std::string source = fs::path(dataset.source(i)).lexically_normal().string();
    const auto above = std::ranges::find_if(folders, [&](const std::string& each) { return source.starts_with(each); });
    const std::size_t above_length = above == folders.end() ? 0 : above->size();
    identities[i] = {dataset.content(i), hash_text(std::string_view(source).substr(above_length))};
  });
  return identities;
}

template <class Value>
HostTensor tensor_of(DType dtype, const std::vector<Value>& values) {
  HostTensor tensor{dtype, {static_cast<std::int64_t>(values.size())}, {}};
  tensor.bytes.resize(values.size() * sizeof(Value));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

template <class Value>
std::vector<Value> values_of(const weights::SafetensorsFile& file, const char* name, DType dtype) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.dtype != dtype || found->second.shape.size() != 1) {
    throw Error(fmt::format("it has no list '{}' of the type expected", name));
  }
  std::vector<Value> values(found->second.bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), found->second.bytes.data(), found->second.bytes.size());
  return values;
}

/// "1 of 28 training images is gone"
std::string count_text(std::size_t count, std::size_t of, const char* part, const char* one, const char* several) {
  return fmt::format("{} of {} {} images {}", count, of, part, count == 1 ? one : several);
}

}  // namespace

std::size_t RecalledSplit::found() const {
  std::size_t found = 0;
  for (std::size_t p = 0; p < known.size(); ++p) found += known[p] - gone[p] - changed[p];
  return found;
}

std::string RecalledSplit::changes() const {
  std::vector<std::string> changes;
  for (std::size_t p = 0; p < known.size(); ++p) {
    if (gone[p] > 0) changes.push_back(count_text(gone[p], known[p], kPartNames[p], "is gone", "are gone"));
    if (changed[p] > 0) {
      changes.push_back(count_text(changed[p], known[p], kPartNames[p], "has other content", "have other content"));
    }
  }
  if (const std::size_t added = split.added.size(); added > 0) {
    changes.push_back(fmt::format("{} {} new", counted(added, "image"), added == 1 ? "is" : "are"));
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

/// Finds the samples of data among the entries of a manifest, each of which stands for one sample.
class Recall {
 public:
  explicit Recall(const SplitManifest& manifest)
      : entries_(manifest.entries_), is_found_(entries_.size()), by_content_(entries_.size()) {
    std::iota(by_content_.begin(), by_content_.end(), 0U);
    by_name_ = by_content_;
    std::ranges::sort(by_content_, {},
                      [this](std::uint32_t e) { return std::pair(entries_[e].content, entries_[e].name); });
    std::ranges::sort(by_name_, {}, [this](std::uint32_t e) { return entries_[e].name; });
  }

  RecalledSplit recall(const std::vector<Identity>& samples) {
    parts_.resize(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) take_same(samples[i], parts_[i]);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!parts_[i] && samples[i].content) take_copy(*samples[i].content, parts_[i]);
    }
    for (std::uint32_t i = 0; i < samples.size(); ++i) place(samples[i], i);
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      const auto part = static_cast<std::size_t>(entries_[e].part);
      if (part >= found_.known.size()) continue;
      ++found_.known[part];
      found_.gone[part] += is_found_[e] ? 0 : 1;
    }
    return std::move(found_);
  }

 private:
  using Membership = SplitManifest::Membership;

  std::span<const std::uint32_t> of_content(std::uint64_t content) const {
    return with(by_content_, content, [this](std::uint32_t e) { return entries_[e].content; });
  }
  std::span<const std::uint32_t> of_name(std::uint64_t name) const {
    return with(by_name_, name, [this](std::uint32_t e) { return entries_[e].name; });
  }
  /// Those with this key. Not std::ranges::equal_range, whose result clang 14 can't take apart.
  template <class KeyOf>
  static std::span<const std::uint32_t> with(const std::vector<std::uint32_t>& sorted, std::uint64_t key,
                                             KeyOf key_of) {
    return {std::ranges::lower_bound(sorted, key, {}, key_of), std::ranges::upper_bound(sorted, key, {}, key_of)};
  }

  void take(std::uint32_t entry, std::optional<Membership>& part) {
    is_found_[entry] = true;
    part = entries_[entry].part;
  }

  /// Finds the entry with the sample's name and content, or by name alone where the content isn't known.
  void take_same(const Identity& sample, std::optional<Membership>& part) {
    const auto same = sample.content ? of_content(*sample.content) : of_name(sample.name);
    const auto is_same = [&](std::uint32_t e) { return entries_[e].name == sample.name && !is_found_[e]; };
    if (const auto found = std::ranges::find_if(same, is_same); found != same.end()) take(*found, part);
  }

  /// Finds entries of the same content under another name. If any of them was trained on, the sample belongs to
  /// training, lest it be tested on.
  void take_copy(std::uint64_t content, std::optional<Membership>& part) {
    const auto same = of_content(content);
    if (same.empty()) return;
    const auto free = std::ranges::find_if(same, [this](std::uint32_t e) { return !is_found_[e]; });
    take(free == same.end() ? same.front() : *free, part);
    for (const std::uint32_t e : same) {
      if (entries_[e].part == Membership::kTrain) part = Membership::kTrain;
    }
  }

  void place(const Identity& sample, std::uint32_t index) {
    if (!parts_[index]) return place_unknown(sample, index);
    Split& split = found_.split;
    std::vector<std::uint32_t>* const lists[] = {&split.train, &split.val, &split.test, nullptr, &found_.were_trained};
    if (auto* const list = lists[static_cast<std::size_t>(*parts_[index])]) list->push_back(index);  // by Membership
  }

  void place_unknown(const Identity& sample, std::uint32_t index) {
    const auto same = of_name(sample.name);
    const auto free = std::ranges::find_if(same, [this](std::uint32_t e) { return !is_found_[e]; });
    if (free == same.end()) {
      found_.split.added.push_back(index);
      return;
    }
    is_found_[*free] = true;
    found_.split.changed.push_back(index);
    const auto part = static_cast<std::size_t>(entries_[*free].part);
    if (part < found_.changed.size()) ++found_.changed[part];
  }

  const std::vector<SplitManifest::Entry>& entries_;
  std::vector<bool> is_found_;
  std::vector<std::uint32_t> by_content_, by_name_;  // entries, sorted
  std::vector<std::optional<Membership>> parts_;     // of each sample
  RecalledSplit found_;
};

SplitManifest::SplitManifest(const OpenedData& data, const std::string& location, int threads) {
  for (const Identity& sample : identities_of(*data.dataset, location, threads)) {
    entries_.push_back({sample.content.value_or(0), sample.name, Membership::kUnused});
  }
  for (const std::uint32_t sample : data.split.train) entries_[sample].part = Membership::kTrain;
  for (const std::uint32_t sample : data.split.val) entries_[sample].part = Membership::kValidation;
  for (const std::uint32_t sample : data.split.test) entries_[sample].part = Membership::kTest;
}

std::optional<SplitManifest> SplitManifest::load(const fs::path& run) {
  const fs::path path = run / kFile;
  std::error_code none;
  if (run.empty() || !fs::exists(path, none)) return std::nullopt;
  const weights::SafetensorsFile file = weights::read_safetensors(path);
  try {
    const auto format = file.metadata.find("format");
    if (format == file.metadata.end() || format->second != kFormat) throw Error("its format is not this program's");
    const auto contents = values_of<std::uint64_t>(file, "contents", DType::kI64);
    const auto names = values_of<std::uint64_t>(file, "names", DType::kI64);
    const auto parts = values_of<std::uint8_t>(file, "parts", DType::kU8);
    if (names.size() != contents.size() || parts.size() != contents.size()) throw Error("its lists differ in length");
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] > static_cast<std::uint8_t>(Membership::kBefore)) {
        throw Error(fmt::format("image {} is in the part {}; 0 to 4 exist", i, parts[i]));
      }
      entries.push_back({contents[i], names[i], static_cast<Membership>(parts[i])});
    }
    return SplitManifest(std::move(entries));
  } catch (const Error& error) {
    throw Error(fmt::format("'{}', the list of the images that the run was trained on, can't be used: {}",
                            path.string(), error.what()));
  }
}

std::optional<SplitManifest> SplitManifest::beside(const fs::path& weights) {
  const fs::path folder = weights.parent_path();
  return load(folder.empty() && !weights.empty() ? "." : folder);
}

void SplitManifest::save(const fs::path& run) const {
  std::vector<std::uint64_t> contents, names;
  std::vector<std::uint8_t> parts;
  for (const Entry& entry : entries_) {
    contents.push_back(entry.content);
    names.push_back(entry.name);
    parts.push_back(static_cast<std::uint8_t>(entry.part));
  }
  weights::write_safetensors(run / kFile,
                             {{"contents", tensor_of(DType::kI64, contents)},
                              {"names", tensor_of(DType::kI64, names)},
                              {"parts", tensor_of(DType::kU8, parts)}},
                             {{"format", kFormat}});
}

void SplitManifest::copy(const fs::path& from, const fs::path& to) {
  if (const auto manifest = load(from)) manifest->save(to);
}

void SplitManifest::add_trained(const SplitManifest& before) {
  std::vector<std::uint64_t> known;
  for (const Entry& entry : entries_) known.push_back(entry.content);
  std::ranges::sort(known);
  for (const Entry& entry : before.entries_) {
    const bool was_trained = entry.part == Membership::kTrain || entry.part == Membership::kBefore;
    if (!was_trained || std::ranges::binary_search(known, entry.content)) continue;
    entries_.push_back({entry.content, entry.name, Membership::kBefore});
  }
}

RecalledSplit SplitManifest::recall(const OpenedData& data, const std::string& location, int threads) const {
  return Recall(*this).recall(identities_of(*data.dataset, location, threads));
}

}  // namespace evener::data
