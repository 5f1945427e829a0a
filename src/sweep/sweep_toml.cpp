// An experiment's file: what docs/sweeps.md describes.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "sweep/options.h"

namespace evener::sweeps {
namespace {

constexpr std::uint64_t kLargestExperiment = 10'000'000;

/// Does it; what is wrong is told with the place in the file.
template <typename Work>
auto telling_line(const std::string& path, std::uint32_t line, Work work) {
  try {
    return work();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}, line {}: {}", path, line, error.what()));
  }
}

class ExperimentReader {
 public:
  ExperimentReader(const std::string& path, SweepFlags& flags) : path_(path), flags_(flags) {}

  SweepPlan read() {
    parse();
    if (!flags_.scale->empty()) take_scale(*flags_.scale);
    const std::optional<std::string> command = text_at("command");
    if (!command) fail(1, "'command' is missing: the measured command, such as command = \"train\"");
    plan_.command = *command;
    plan_.file = path_;
    plan_.title = text_at("title").value_or("");
    plan_.default_out = "runs/" + std::filesystem::path(path_).stem().string();
    if (!flags_.scale->empty()) plan_.default_out += "-" + *flags_.scale;
    command_ =
        telling_line(path_, line_of("command"), [&] { return measured_command(flags_.plan.commands, *command); });
    for (const auto& [key, node] : table_) take_top(std::string(key.str()), node);
    read_options();
    read_axes();
    read_together();
    read_exclusions();
    return std::move(plan_);
  }

 private:
  void parse() {
    const std::string text = text_without_byte_order_mark(read_file(path_, kLargestExperiment));
    try {
      table_ = toml::parse(text, path_);
    } catch (const toml::parse_error& error) {
      fail(error.source().begin.line, std::string(error.description()));
    }
  }

  /// Moves what stands under [scale.NAME] to where it would stand without it. Its nodes keep the lines of the file.
  void take_scale(const std::string& name) {
    toml::table* scales = table_["scale"].as_table();
    std::vector<std::string> known;
    for (const auto& [key, node] : scales == nullptr ? toml::table() : *scales) known.emplace_back(key.str());
    toml::table* named = scales == nullptr ? nullptr : (*scales)[name].as_table();
    if (named == nullptr) throw UsageError(fmt::format("{}: {}", path_, unknown_name_message("scale", name, known)));
    toml::table scale = std::move(*named);
    const auto put = [](toml::table& into, const toml::key& key, toml::node& node) {
      node.visit([&](auto& value) { into.insert_or_assign(key, std::move(value)); });
    };
    for (auto&& [key, node] : scale) {
      toml::table* whole = table_[key.str()].as_table();
      if (whole == nullptr || !node.is_table()) {
        put(table_, key, node);
        continue;
      }
      toml::table* other = table_[key.str() == "axes" ? "options" : "axes"].as_table();
      for (auto&& [inner, value] : *node.as_table()) {
        put(*whole, inner, value);
        if (other != nullptr) other->erase(inner.str());  // an axis may become an option, and the other way round
      }
    }
  }

  [[noreturn]] void fail(std::uint32_t line, const std::string& what) const {
    throw UsageError(fmt::format("{}, line {}: {}", path_, line, what));
  }
  static std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }
  std::uint32_t line_of(const char* key) const { return line_of(*table_.get(key)); }

  std::optional<std::string> text_at(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    if (const auto text = node->value_exact<std::string>()) return *text;
    fail(line_of(*node), fmt::format("'{}' is no text", key));
  }

  void take_top(const std::string& key, const toml::node& node) {
    static const std::vector<std::string> own = {"command", "title", "options", "axes", "together", "exclude", "scale"};
    if (std::ranges::find(own, key) != own.end()) return;
    std::vector<std::string> known = own;
    for (OptionBase* option : flags_.options()) {
      // Options for a single call don't belong into the file of an experiment.
      if (option->is_positional() || option->key() == "again" || option->key() == "dry-run" ||
          option->key() == "scale") {
        continue;
      }
      known.push_back(option->key());
      if (option->key() != key) continue;
      const SweepValue value = value_of(key, node);
      if (!option->given()) telling_line(path_, line_of(node), [&] { option->read(value); });
      return;
    }
    const bool is_commands = command_->options.find("--" + key) != nullptr;
    fail(line_of(node), is_commands
                            ? fmt::format("'{}' is an option of '{}' and stands under [options]", key, plan_.command)
                            : unknown_name_message("key", key, known));
  }

  std::string word_of(const std::string& key, const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) {
      if (text->empty() && !key.starts_with('$')) {
        fail(line_of(node), fmt::format("'{}' is empty; leave the line out instead", key));
      }
      return *text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
    fail(line_of(node), fmt::format("'{}' has a value that no option takes (a date or a table)", key));
  }

  /// One value of an option: a word, or a list of them.
  SweepValue value_of(const std::string& key, const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return {word_of(key, node)};
    SweepValue value;
    for (const toml::node& item : *list) value.push_back(word_of(key, item));
    return value;
  }

  /// The option of a key under [options] or [axes]; null for an environment variable.
  const OptionBase* option_at(const std::string& key, const toml::node& node) const {
    return telling_line(path_, line_of(node), [&] { return option_of_key(*command_, key); });
  }

  void check_value(const OptionBase* option, const std::string& key, const toml::node& node,
                   const SweepValue& value) const {
    const bool is_list = option != nullptr && option->takes_several();
    if (!is_list && value.size() != 1) fail(line_of(node), fmt::format("'{}' takes one value", key));
    if (value.empty()) fail(line_of(node), fmt::format("'{}' is an empty list", key));
    const bool is_truth = value.front() == "true" || value.front() == "false";
    if (option != nullptr && option->kind() == ValueKind::kSwitch && !is_truth) {
      fail(line_of(node), fmt::format("'{}' is a switch: it is true or false", key));
    }
  }

  void read_options() {
    const toml::node* node = table_.get("options");
    if (node == nullptr) return;
    const toml::table* options = node->as_table();
    if (options == nullptr) fail(line_of(*node), "[options] is a table: options of the measured command, one per line");
    for (const auto& [name, value_node] : *options) {
      const std::string key(name.str());
      const OptionBase* option = option_at(key, value_node);
      if (value_node.is_array() && (option == nullptr || !option->takes_several())) {
        fail(line_of(value_node),
             fmt::format("'{}' takes one value; several are an axis, and stand under [axes]", key));
      }
      SweepValue value = value_of(key, value_node);
      check_value(option, key, value_node, value);
      plan_.fixed.try_emplace(key, std::move(value));
    }
  }

  /// The values of an axis in their order.
  std::vector<SweepValue> axis_values(const std::string& key, const toml::node& node) const {
    const OptionBase* option = option_at(key, node);
    std::vector<SweepValue> values;
    const auto add = [&](const toml::node& item) {
      const SweepValue value = value_of(key, item);
      check_value(option, key, item, value);
      if (value.size() > 1) {
        values.push_back(value);
      } else {
        for (std::string& one : telling_line(path_, line_of(item), [&] { return expanded(value.front()); })) {
          values.push_back({std::move(one)});
        }
      }
    };
    if (const toml::array* list = node.as_array()) {
      if (list->empty()) fail(line_of(node), fmt::format("the axis '{}' is an empty list", key));
      for (const toml::node& item : *list) add(item);
    } else {
      add(node);
    }
    if (plan_.fixed.contains(key)) {
      fail(line_of(node),
           fmt::format("'{}' stands under [options] as well, where it has one value; leave it out there", key));
    }
    return values;
  }

  /// Texts of the values, which are remembered.
  std::vector<std::string> texts_of(const std::string& key, std::vector<SweepValue> values) {
    std::vector<std::string> texts;
    for (SweepValue& value : values) {
      texts.push_back(fmt::format("{}", fmt::join(value, " ")));
      plan_.values[key][texts.back()] = std::move(value);
    }
    return texts;
  }

  void read_axes() {
    const toml::node* node = table_.get("axes");
    if (node == nullptr) return;
    const toml::table* axes = node->as_table();
    if (axes == nullptr) fail(line_of(*node), "[axes] is a table: options with lists of values, one per line");
    // As they stand in the file: what others are compared with is the first value of each.
    std::vector<std::pair<std::string, const toml::node*>> in_order;
    for (const auto& [name, values] : *axes) in_order.emplace_back(name.str(), &values);
    const auto place = [](const auto& entry) {
      const auto& begin = entry.second->source().begin;
      return std::pair(begin.line, begin.column);
    };
    std::ranges::sort(in_order, {}, place);
    for (const auto& [key, values] : in_order) {
      record::SweepAxis axis;
      axis.names = {key};
      for (std::string& text : texts_of(key, axis_values(key, *values))) axis.steps.push_back({std::move(text)});
      plan_.axes.push_back(std::move(axis));
    }
  }

  /// Calls `use` for each table of the list under `key`.
  template <typename Use>
  void each_table(const char* key, Use use) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    const auto is_table = [](const toml::node& item) { return item.is_table(); };
    if (list == nullptr || !std::all_of(list->begin(), list->end(), is_table)) {
      fail(line_of(*node), fmt::format("'{0}' is written as [[{0}]], with two brackets", key));
    }
    for (const toml::node& item : *list) use(*item.as_table());
  }

  void read_together() {
    each_table("together", [&](const toml::table& table) {
      record::SweepAxis axis;
      for (const auto& [name, node] : table) {
        const std::string key(name.str());
        const std::vector<std::string> texts = texts_of(key, axis_values(key, node));
        if (!axis.names.empty() && texts.size() != axis.steps.size()) {
          fail(line_of(node), fmt::format("'{}' has {} values and '{}' has {}: values that go together are as many",
                                          key, texts.size(), axis.names.front(), axis.steps.size()));
        }
        axis.steps.resize(texts.size());
        axis.names.push_back(key);
        for (std::size_t n = 0; n < texts.size(); ++n) axis.steps[n].push_back(texts[n]);
      }
      if (axis.names.empty()) fail(line_of(table), "[[together]] has no keys");
      plan_.axes.push_back(std::move(axis));
    });
  }

  void read_exclusions() {
    each_table("exclude", [&](const toml::table& table) {
      Exclusion& exclusion = plan_.exclusions.emplace_back();
      for (const auto& [name, node] : table) {
        const std::string key(name.str());
        const bool is_axis = std::ranges::any_of(plan_.axes, [&](const record::SweepAxis& axis) {
          return std::ranges::find(axis.names, key) != axis.names.end();
        });
        if (!is_axis) fail(line_of(node), fmt::format("[[exclude]] names '{}', which is no axis", key));
        const toml::array* list = node.as_array();
        const auto add = [&](const toml::node& item) {
          for (std::string& text : expanded(fmt::format("{}", fmt::join(value_of(key, item), " ")))) {
            if (!plan_.values[key].contains(text)) {
              fail(line_of(item), fmt::format("[[exclude]]: the axis '{}' has no value '{}'", key, printable(text)));
            }
            exclusion[key].push_back(std::move(text));
          }
        };
        if (list == nullptr) {
          add(node);
        } else {
          for (const toml::node& item : *list) add(item);
        }
      }
      if (exclusion.empty()) fail(line_of(table), "[[exclude]] names no value, and would leave out every cell");
    });
  }

  const std::string& path_;
  SweepFlags& flags_;
  std::optional<MeasuredCommand> command_;
  toml::table table_;
  SweepPlan plan_;
};

}  // namespace

SweepPlan plan_from_file(const std::string& path, SweepFlags& flags) {
  return ExperimentReader(path, flags).read();
}

}  // namespace evener::sweeps
