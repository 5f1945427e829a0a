#include "network/weight_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"

namespace evener::network {
namespace {

constexpr std::size_t kMostTold = 6;

bool is_counter_name(std::string_view name) {
  return name.ends_with("num_batches_tracked");
}

std::set<std::string_view> names_of(const Network& network) {
  std::set<std::string_view> names;
  for (const Parameter& parameter : network.parameters()) {
    if (!is_counter_name(parameter.name)) names.insert(parameter.name);
  }
  return names;
}

/// The prefix of the network's names in the file: of several prefixes the one with most of the names, and of equal ones
/// the shortest. Absent where less than half of the names are found.
struct Prefix {
  std::string text;
  std::vector<std::string> others;  // other prefixes with as many names
};
std::optional<Prefix> prefix_in(const weights::SafetensorsFile& file, const std::set<std::string_view>& names) {
  std::map<std::string, std::size_t> found;
  const auto count = [&](const std::string& name) {
    std::size_t begin = 0;
    do {
      if (names.contains(std::string_view(name).substr(begin))) ++found[name.substr(0, begin)];
      begin = name.find('.', begin) + 1;
    } while (begin != 0);  // npos + 1
  };
  for (const auto& [name, tensor] : file.tensors) count(name);
  for (const weights::PassedOver& one : file.passed_over) count(one.name);
  std::size_t most = 0;
  for (const auto& [prefix, times] : found) most = std::max(most, times);
  if (most * 2 <= names.size()) return std::nullopt;
  std::vector<std::string> best;
  for (const auto& [prefix, times] : found) {
    if (times == most) best.push_back(prefix);
  }
  std::ranges::stable_sort(best, {}, &std::string::size);
  return Prefix{best.front(), {best.begin() + 1, best.end()}};
}

/// Removes the prefix from names; removes tensors without it and returns their names.
std::vector<std::string> take_prefix(weights::SafetensorsFile& file, const std::string& prefix) {
  std::vector<std::string> outside;
  TensorMap inside;
  while (!file.tensors.empty()) {
    auto node = file.tensors.extract(file.tensors.begin());
    if (node.key().starts_with(prefix)) {
      node.key().erase(0, prefix.size());
      inside.insert(std::move(node));
    } else {
      outside.push_back(printable(node.key()));
    }
  }
  file.tensors = std::move(inside);
  for (weights::PassedOver& one : file.passed_over) {
    if (one.name.starts_with(prefix)) one.name.erase(0, prefix.size());
  }
  return outside;
}

std::string module_of(std::string_view name) {
  return std::string(name.substr(0, name.find('.')));
}

/// Removes tensors of modules that the network doesn't have. Further layers of modules that it has are left, and fail a
/// later check: the file is another network's then.
std::vector<std::string> take_other_modules(TensorMap& tensors, const std::set<std::string_view>& names) {
  std::set<std::string> modules;
  for (const std::string_view name : names) modules.insert(module_of(name));
  std::vector<std::string> taken;
  std::erase_if(tensors, [&](const auto& item) {
    const bool is_other = !modules.contains(module_of(item.first));
    if (is_other) taken.push_back(printable(item.first));
    return is_other;
  });
  return taken;
}

std::string listed(std::vector<std::string> names) {
  const std::size_t more = names.size() - std::min(names.size(), kMostTold);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

bool has_all_names(const Network& network, const TensorMap& tensors) {
  return std::ranges::all_of(network.parameters(), [&](const Parameter& parameter) {
    return is_counter_name(parameter.name) || tensors.contains(parameter.name);
  });
}

std::vector<std::string> adapt_names(const Network& network, weights::SafetensorsFile& file,
                                     const std::string& source) {
  std::vector<std::string> notes;
  if (!file.foreign_names.empty()) {
    notes.push_back(fmt::format("{} asks for {} beside its tensors: passed over, nothing of it was run", source,
                                listed(file.foreign_names)));
  }
  const std::set<std::string_view> names = names_of(network);
  const std::optional<Prefix> prefix = prefix_in(file, names);
  if (!prefix) return notes;
  std::vector<std::string> left_out = take_prefix(file, prefix->text);
  if (!prefix->text.empty()) {
    notes.push_back(fmt::format(
        "{} has its tensors under '{}', which is taken from their names{}", source, printable(prefix->text),
        prefix->others.empty() ? ""
                               : fmt::format("; those under '{}' are not used",
                                             printable(fmt::format("{}", fmt::join(prefix->others, "', '"))))));
  }
  for (const weights::PassedOver& one : file.passed_over) {
    if (names.contains(one.name) && !file.tensors.contains(one.name)) {
      throw Error(
          fmt::format("tensor {} of {} is of type {}, which weights can't be read from; float32, float16, "
                      "bfloat16 and float64 are read",
                      quoted_text(one.name), source, printable(one.type)));
    }
  }
  if (has_all_names(network, file.tensors)) {
    std::ranges::move(take_other_modules(file.tensors, names), std::back_inserter(left_out));
    for (const weights::PassedOver& one : file.passed_over) {
      left_out.push_back(fmt::format("{} ({})", printable(one.name), printable(one.type)));
    }
    file.passed_over.clear();
  }
  if (!left_out.empty()) {
    notes.push_back(fmt::format("{} of {} that {} has no place for {} left out: {}", counted(left_out.size(), "value"),
                                source, network.model(), left_out.size() == 1 ? "is" : "are", listed(left_out)));
  }
  return notes;
}

}  // namespace evener::network
