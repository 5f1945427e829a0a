#include "app/program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include "app/command_line/arguments.h"
#include "app/command_line/parser.h"
#include "app/commands.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/terminal_text.h"
#include "base/version.h"

namespace evener::app {
namespace {

std::string no_memory_text() {
  return "out of memory: use a smaller --batch or --size, " + memory_advice();
}

/// Results on a full disk or a closed pipe are no results.
void require_written_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(std::string("can't write to standard output: ") +
              (errno == 0 ? "a part of it is lost" : std::strerror(errno)));
}

int run_chosen_command(int argc, char** argv) {
  const Command all = all_commands();
  const Command& command = parse(all, std::string("evener ") + program_version(), argc, argv);
  if (!command.run) {
    std::fputs(program_help(all).c_str(), stdout);
    return 0;
  }
  install_stop_handlers();
  return command.run();
}

int fail(const std::string& what, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "evener: %s\n", terminal_text(what).c_str());
  return code;
}

/// The message for an error of the operating system.
std::string system_text(const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again) {
    const std::string limit = memory_limits().limit;
    return "a thread or process can't be started: raise " + (limit.empty() ? "" : limit + ", or ") +
           "the limit of processes ('ulimit -u', or pids.max of the control group)";
  }
  return error.what();
}

}  // namespace

Command all_commands() {
  Command program{"evener", "evener trains and measures image networks on every processor a machine has."};
  program.footer =
      "'evener COMMAND --help' shows a command's options with examples.\n"
      "'evener setup --help' tells about the set-up.";
  program.commands = {doctor_command(),
                      demo_command(measured_commands),
                      info_command(),
                      training::train_command(),
                      inference::infer_command(),
                      serving::serve_command(),
                      inference::export_command(),
                      quantization::quantize_command(),
                      inference::calibrate_command(),
                      faces::faces_command(),
                      detection::detect_command(),
                      matmul::matmul_command(),
                      training::plan_command(),
                      sweeps::sweep_command(measured_commands),
                      report_command(),
                      inference::share_command(),
                      sweeps::compare_command(),
                      sweeps::history_command(),
                      data_command(),
                      completion_command(all_commands)};
  return program;
}

MeasuredCommands measured_commands() {
  MeasuredCommands measured;
  for (const Command& command : all_commands().commands) {
    if (command.measured != nullptr) measured.emplace_back(command.name, command.measured);
  }
  return measured;
}

int run_command_line(int argc, char** argv) {
  try {
    int code = 0;
    try {
      code = run_chosen_command(argc, argv);
    } catch (const HelpPrinted&) {
    }
    require_written_output();
    return code;
  } catch (const UsageError& error) {
    return fail(error.what(), 2);
  } catch (const Interrupted& error) {
    return fail(error.what(), stop_exit_code());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(
        "can't use '" + error.path1().string() + "': " + error.code().message() + "; choose another name or place", 1);
  } catch (const std::system_error& error) {
    return fail(system_text(error), 1);
  } catch (const std::bad_alloc&) {
    return fail(no_memory_text(), 1);
  } catch (const std::exception& error) {
    return fail(error.what(), 1);
  }
}

void end_at_once() {
  std::string what = "ended by an error that nothing caught";
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    what = no_memory_text();
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  std::fprintf(stderr, "evener: %s\n", what.c_str());
  _exit(1);
}

}  // namespace evener::app
