#include "app/command_line/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/command_line/arguments.h"
#include "base/error.h"

namespace evener::app {
namespace {

constexpr int kHelpColumn = 34;

CLI::Option* bind_switch(CLI::App& app, OptionBase& option) {
  return app.add_flag_function(
      option.name(), [&option](std::int64_t count) { option.read({count > 0 ? "true" : "false"}); },
      option.words().help);
}

CLI::Option* bind_value(CLI::App& app, OptionBase& option) {
  const CLI::callback_t read = [&option](const CLI::results_t& words) {
    option.read(words);
    return true;
  };
  CLI::Option* bound = app.add_option(option.name(), read, option.words().help);
  // The word for a positional's value is its name.
  bound->type_name(option.is_positional() ? "" : option.words().value)->default_str(option.default_text());
  if (option.kind() == ValueKind::kSwitchOrOne) {
    bound->expected(0, 1)->take_all();
  } else if (option.kind() != ValueKind::kMany) {
    if (!option.is_positional()) bound->take_all();  // a second one is refused by read(); a second MODEL by CLI11
  } else if (option.is_positional()) {
    bound->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  } else {
    bound->expected(1)->allow_extra_args(false)->take_all();
  }
  return bound;
}

void bind_option(CLI::App& app, OptionBase& option, const std::string& title) {
  CLI::Option* bound = option.kind() == ValueKind::kSwitch ? bind_switch(app, option) : bind_value(app, option);
  bound->required(option.rules().required);
  if (option.rules().hidden) {
    bound->group("");
  } else if (!option.is_positional()) {
    bound->group(title);
  }
}

void bind(CLI::App& app, const OptionSet& options) {
  for (const OptionSet::Section& section : options.sections()) {
    for (OptionBase* option : section.options) bind_option(app, *option, section.group->title());
  }
}

/// --help comes last, with the other options that every command has.
void move_help(CLI::App& app, const GeneralFlags& general) {
  app.set_help_flag();
  app.set_help_flag("-h,--help", "Print this help and stop")->group(general.title());
}

void add_command(CLI::App& parent, const Command& command, GeneralFlags& general) {
  CLI::App* app = parent.add_subcommand(command.name, command.summary);
  app->footer(command.footer);
  bind(*app, command.options);
  if (!command.options.empty()) bind(*app, {&general});
  move_help(*app, general);
  for (const Command& inner : command.commands) add_command(*app, inner, general);
}

std::unique_ptr<CLI::App> make_app(const Command& program, GeneralFlags& general, const std::string& version) {
  auto app = std::make_unique<CLI::App>(program.summary, program.name);
  app->get_formatter()->column_width(kHelpColumn);
  for (const Command& command : program.commands) add_command(*app, command, general);
  app->set_version_flag("-V,--version", version, "Print the version and stop")->group(general.title());
  move_help(*app, general);
  app->footer(program.footer);
  return app;
}

/// With one empty line between groups, where CLI11 leaves two.
std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

void read_words(const Command& program, GeneralFlags& general, const std::string& version,
                const std::vector<std::string>& words) {
  const auto app = make_app(program, general, version);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
  try {
    app->parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(*app).c_str(), stdout);
    throw HelpPrinted{};
  } catch (const CLI::CallForVersion& asked) {
    std::fprintf(stdout, "%s\n", asked.what());
    throw HelpPrinted{};
  } catch (const CLI::RequiredError&) {
    // Not an error yet: parse() checks required options after --config was read, and names the missing ones.
  } catch (const CLI::ExtrasError&) {
    const bool has_blanks = std::ranges::any_of(words, [](const std::string& word) { return word.ends_with(','); });
    throw UsageError(fmt::format("'{}' is one argument too many{}", fmt::join(app->remaining(true), "', '"),
                                 has_blanks ? "; a list has commas without blanks, as a,b" : ""));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

std::string program_help(const Command& program) {
  GeneralFlags general;
  return help_text(*make_app(program, general, ""));
}

}  // namespace evener::app
