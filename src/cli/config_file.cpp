#include "cli/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"

namespace evener::cli {
namespace {

constexpr std::uint64_t kLargestFile = 1'000'000;

class ConfigReader {
 public:
  ConfigReader(const std::filesystem::path& path, const CLI::App& command) : path_(path), command_(command) {}

  ConfigValues read() {
    const std::string text = read_file(path_, kLargestFile);
    toml::table table;
    try {
      table = toml::parse(text, path_.string());
    } catch (const toml::parse_error& error) {
      fail(error.source().begin.line, std::string(error.description()));
    }
    ConfigValues values;
    for (const CLI::Option* option : command_.get_options()) {
      // Positionals in the command's order; one that is missing ends the list, as on the command line.
      const toml::node* node = option->nonpositional() ? nullptr : table.get(option_key(*option));
      if (node) values.positionals.push_back(value_text(option_key(*option), *node));
    }
    for (const auto& [name, node] : table) {
      const std::string key(name.str());
      const CLI::Option* option = find(key, node);
      if (option->nonpositional()) values.options.push_back({option, words(key, *option, node)});
    }
    return values;
  }

 private:
  [[noreturn]] void fail(std::uint32_t line, const std::string& what) const {
    throw UsageError(fmt::format("{}, line {}: {}", path_.string(), line, what));
  }

  const CLI::Option* find(const std::string& key, const toml::node& node) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : command_.get_options()) {
      const std::string name = option_key(*option);
      if (name == "help" || name == "config" || name.empty()) continue;
      if (name == key) return option;
      known.push_back(name);
    }
    fail(node.source().begin.line, unknown_name_message("key", key, known));
  }

  std::vector<std::string> words(const std::string& key, const CLI::Option& option, const toml::node& node) const {
    const std::string name = "--" + key;
    if (option.get_expected_max() == 0) {  // a flag
      const auto on = node.value_exact<bool>();
      if (!on) fail(node.source().begin.line, fmt::format("'{}' is a switch: it is true or false", key));
      return *on ? std::vector<std::string>{name} : std::vector<std::string>{};
    }
    const toml::array* list = node.as_array();
    if (!list) return {name + "=" + value_text(key, node)};
    const bool repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option.get_items_expected_max() < 2 && !repeats)
      fail(node.source().begin.line, fmt::format("'{}' takes one value", key));
    std::vector<std::string> result;
    for (const toml::node& item : *list) result.push_back(name + "=" + value_text(key, item));
    return result;
  }

  std::string value_text(const std::string& key, const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) {
      if (text->empty()) fail(node.source().begin.line, fmt::format("'{}' is empty; leave the line out instead", key));
      return *text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
    if (node.is_table()) {
      fail(node.source().begin.line, fmt::format("[{}] is a table; the options of 'evener {}' stand flat, one per line",
                                                 key, command_path(command_)));
    }
    fail(node.source().begin.line, fmt::format("'{}' has a value that no option takes (a date or a nested list)", key));
  }

  const std::filesystem::path& path_;
  const CLI::App& command_;
};

}  // namespace

ConfigValues read_config(const std::filesystem::path& path, const CLI::App& command) {
  return ConfigReader(path, command).read();
}

std::string command_path(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const std::string above = parent && parent->get_parent() ? command_path(*parent) + " " : "";
  return above + command.get_name();
}

std::string option_key(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
}

}  // namespace evener::cli
