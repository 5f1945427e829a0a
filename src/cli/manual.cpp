#include "cli/manual.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "base/version.h"
#include "cli/parser.h"

namespace evener::cli {
namespace {

/// Text in the language of man(7).
std::string roff(const std::string& text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
    line_begins = c == '\n';
  }
  return safe;
}

void add_option(const job::OptionBase& option, std::string& page) {
  page += ".TP\n.B " + roff(option.name());
  if (!option.is_positional() && !option.words().value.empty()) page += " \\fI" + roff(option.words().value) + "\\fR";
  page += "\n" + roff(option.words().help);
  if (!option.rules().one_of.empty()) page += roff(fmt::format(" ({})", fmt::join(option.rules().one_of, ", ")));
  if (const std::string usual = option.default_text(); !usual.empty()) page += roff(" [default: " + usual + "]");
  if (option.rules().required) page += " [required]";
  page += "\n";
}

void add_command(const Command& command, const std::string& path, std::string& page) {
  std::string words;
  for (const job::OptionBase* option : command.options.options()) {
    if (option->is_positional()) words += " " + option->name() + (option->kind() == job::ValueKind::kMany ? "..." : "");
  }
  page += ".SS evener " + roff(path + words) + "\n" + roff(command.summary) + ".\n";
  for (const job::OptionSet::Section& section : command.options.sections()) {
    for (const job::OptionBase* option : section.options) {
      if (!option->rules().hidden) add_option(*option, page);
    }
  }
  if (!command.footer.empty()) page += ".PP\n.nf\n" + roff(command.footer) + "\n.fi\n";
  for (const Command& inner : command.commands) add_command(inner, path + " " + inner.name, page);
}

/// "evener trains ..." as "trains ...".
std::string without_name(const std::string& summary) {
  constexpr std::string_view kName = "evener ";
  return summary.starts_with(kName) ? summary.substr(kName.size()) : summary;
}

}  // namespace

std::string manual_page(const Command& program, const std::string& version) {
  std::string page = ".TH EVENER 1 \"" + std::string(program_release_date()) + "\" \"evener " + roff(version) +
                     "\"\n.SH NAME\n" + roff("evener - " + without_name(program.summary)) +
                     "\n.SH SYNOPSIS\n.B evener\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" +
                     roff(program.footer) + "\n.SH COMMANDS\n";
  for (const Command& command : program.commands) add_command(command, command.name, page);
  GeneralFlags general;
  page += ".SH GENERAL OPTIONS\n";
  add_option(general.config, page);
  page +=
      ".TP\n.B \\-h\\fR, \\fB\\-\\-help\nPrint the help of a command.\n.TP\n.B \\-V\\fR, \\fB\\-\\-version\nPrint the "
      "version.\n";
  page +=
      ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nFailed; the message says why and what to do.\n"
      ".TP\n.B 2\nWrong usage.\n.TP\n.B 3\nA scenario of infer is done, but INVALID.\n"
      ".TP\n.B 128 + N\nStopped by signal N (130: Ctrl\\-C, 143: SIGTERM); a training has saved.\n";
  return page;
}

Command manual_command(std::function<Command()> program, const std::string& version) {
  return {.name = "man",
          .summary = "Print the manual page",
          .footer =
              "Examples:\n"
              "  evener man | man -l -\n"
              "  evener man > ~/.local/share/man/man1/evener.1\n",
          .run = [program = std::move(program), version] {
            std::fputs(manual_page(program(), version).c_str(), stdout);
            return 0;
          }};
}

}  // namespace evener::cli
