// evener completion: scripts that complete commands, options and values in a shell, made from the commands' own
// descriptions.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line/parser.h"
#include "options/command.h"

namespace evener::app {
namespace {

const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

constexpr std::string_view kBashScript =
#include "app/command_line/completion_scripts/bash.inc"
    ;
constexpr std::string_view kZshScript =
#include "app/command_line/completion_scripts/zsh.inc"
    ;
constexpr std::string_view kFishScript =
#include "app/command_line/completion_scripts/fish.inc"
    ;

/// An option as a shell needs it.
struct Offer {
  std::string name, help;
  std::vector<std::string> values;  // values to offer
  bool takes_value = false, takes_file = false;
};

/// A command with its whole path, such as "data info".
struct Place {
  std::string path, help;
  std::vector<Offer> options;
  std::vector<std::string> words;  // words to offer where no option is: subcommands, or known values
  bool takes_files = false;        // files are offered there, too
  std::vector<std::pair<std::string, std::string>> commands;
};

bool names_a_file(const std::string& value) {
  for (const char* word : {"FILE", "DIR", "DATA", "SOURCE"}) {
    if (value.find(word) != std::string::npos) return true;
  }
  return false;
}

Offer offer_of(const OptionBase& option) {
  const OptionRules& rules = option.rules();
  return {option.name(), option.words().help, rules.one_of.empty() ? rules.suggestions : rules.one_of,
          option.kind() != ValueKind::kSwitch, names_a_file(option.words().value)};
}

void collect(const Command& command, const std::string& path, std::vector<Place>& places) {
  Place place{path, command.summary, {}, {}, false, {}};
  for (const OptionBase* option : command.options.options()) {
    if (option->rules().hidden) continue;
    const Offer offer = offer_of(*option);
    if (option->is_positional()) {
      place.words.insert(place.words.end(), offer.values.begin(), offer.values.end());
      place.takes_files = place.takes_files || offer.takes_file;
    } else {
      place.options.push_back(offer);
    }
  }
  if (!command.options.empty()) place.options.push_back(offer_of(GeneralFlags().config));
  place.options.push_back({"--help", "Print this help and stop", {}, false, false});
  if (path.empty()) place.options.push_back({"--version", "Print the version and stop", {}, false, false});
  for (const Command& inner : command.commands) place.commands.emplace_back(inner.name, inner.summary);
  places.push_back(std::move(place));
  for (const Command& inner : command.commands) {
    collect(inner, path.empty() ? inner.name : path + " " + inner.name, places);
  }
}

/// In single quotes, for all three shells.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else {
      safe += c;
    }
  }
  return "'" + safe + "'";
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

/// "' train' | 'data info'": the paths of all commands, as `chosen word` while the words are gone through.
std::string path_patterns(const std::vector<Place>& places, const char* separator) {
  std::string text;
  for (const Place& place : places) {
    if (place.path.empty()) continue;
    const bool inner = place.path.find(' ') != std::string::npos;
    text += (text.empty() ? "" : separator) + quoted(inner ? place.path : " " + place.path);
  }
  return text;
}

std::vector<std::string> names_of(const Place& place) {
  std::vector<std::string> names = place.words;
  for (const auto& [name, help] : place.commands) names.push_back(name);
  return names;
}

std::string bash_script(const std::vector<Place>& places) {
  std::string values, words;
  for (const Place& place : places) {
    std::vector<std::string> options;
    for (const Offer& offer : place.options) {
      options.push_back(offer.name);
      if (!offer.takes_value) continue;
      values += fmt::format("    {}) values=({}) files={} ;;\n", quoted(place.path + "|" + offer.name),
                            quoted_list(offer.values), offer.takes_file ? 1 : 0);
    }
    words += fmt::format("    {}) options=({}) words=({}) files={} ;;\n", quoted(place.path), quoted_list(options),
                         quoted_list(names_of(place)), place.takes_files ? 1 : 0);
  }
  return fmt::format(kBashScript, path_patterns(places, " | "), values, words);
}

/// "name:help" for _describe, which takes a colon in a name with a backslash.
std::string described(const std::string& name, const std::string& help) {
  std::string safe;
  for (const char c : name) safe += c == ':' ? "\\:" : std::string(1, c);
  return quoted(safe + ":" + help);
}

std::string zsh_script(const std::vector<Place>& places) {
  std::string values, words;
  for (const Place& place : places) {
    std::string options, names;
    for (const Offer& offer : place.options) {
      options += (options.empty() ? "" : " ") + described(offer.name, offer.help);
      if (!offer.takes_value) continue;
      values += fmt::format("    {}) values=({}) files={} ;;\n", quoted(place.path + "|" + offer.name),
                            quoted_list(offer.values), offer.takes_file ? 1 : 0);
    }
    for (const auto& [name, help] : place.commands) names += (names.empty() ? "" : " ") + described(name, help);
    for (const std::string& word : place.words) names += (names.empty() ? "" : " ") + described(word, "");
    words += fmt::format("    {}) options=({}) names=({}) files={} ;;\n", quoted(place.path), options, names,
                         place.takes_files ? 1 : 0);
  }
  return fmt::format(kZshScript, path_patterns(places, " | "), values, words);
}

std::string fish_script(const std::vector<Place>& places) {
  std::string text = fmt::format(kFishScript, path_patterns(places, " "));
  for (const Place& place : places) {
    const std::string begin = fmt::format("complete -c evener -n {}", quoted("__evener_at \"" + place.path + "\""));
    for (const auto& [name, help] : place.commands) {
      text += fmt::format("{} -a {} -d {}\n", begin, quoted(name), quoted(help));
    }
    if (!place.words.empty())
      text += fmt::format("{} -a {}\n", begin, quoted(fmt::format("{}", fmt::join(place.words, " "))));
    if (place.takes_files) text += begin + " -F\n";
    for (const Offer& offer : place.options) {
      text += fmt::format("{} -l {} -d {}", begin, offer.name.substr(2), quoted(offer.help));
      if (offer.takes_value) text += offer.takes_file ? " -r -F" : " -x";
      if (!offer.values.empty()) text += " -a " + quoted(fmt::format("{}", fmt::join(offer.values, " ")));
      text += "\n";
    }
  }
  return text;
}

/// A script for one of kShells.
std::string completion_script(const Command& program, const std::string& shell) {
  std::vector<Place> places;  // the program itself, with an empty path, and all its commands
  collect(program, "", places);
  if (shell == "bash") return bash_script(places);
  if (shell == "zsh") return zsh_script(places);
  return fish_script(places);
}

struct CompletionFlags : OptionGroup {
  CompletionFlags() : OptionGroup("Shell") {}

  Option<std::string> shell{*this, {"SHELL", "NAME", "bash, zsh or fish"}, "", {.one_of = kShells, .required = true}};
};

}  // namespace

Command completion_command(std::function<Command()> program) {
  const auto flags = std::make_shared<CompletionFlags>();
  return {.name = "completion",
          .summary = "Print a script that completes commands and options in a shell",
          .options = {flags.get()},
          .footer =
              "Examples:\n"
              "  evener completion bash > ~/.local/share/bash-completion/completions/evener\n"
              "  evener completion zsh > ~/.zfunc/_evener     # a folder of $fpath\n"
              "  evener completion fish > ~/.config/fish/completions/evener.fish\n",
          .run = [flags, program = std::move(program)] {
            std::fputs(completion_script(program(), *flags->shell).c_str(), stdout);
            return 0;
          }};
}

}  // namespace evener::app
