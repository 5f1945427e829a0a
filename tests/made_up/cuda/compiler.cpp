#include "made_up/cuda/compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

extern char** environ;

namespace made_up::cuda {
namespace {

namespace fs = std::filesystem;

/// What a kernel's text may use. `__global__` and `__launch_bounds__` stay as they are until kernels were looked for.
const char* const kPrelude = R"(
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("made_up_shared")))
#define __syncthreads() made_up_barrier(__LINE__)
struct MadeUpPlace { unsigned x, y, z; };
extern "C" {
extern MadeUpPlace threadIdx, blockIdx, blockDim, gridDim;
extern void (*made_up_barrier)(int);
}
static inline float exp(float x) { return __builtin_expf(x); }
static inline float log(float x) { return __builtin_logf(x); }
static inline float tanh(float x) { return __builtin_tanhf(x); }
static inline float sqrt(float x) { return __builtin_sqrtf(x); }
static inline float fabs(float x) { return __builtin_fabsf(x); }
)";

/// Before the text in which no macro is left but these.
const char* const kBegin = R"(
#include <utility>
#define __global__
#define __launch_bounds__(items)
)";

/// After it: what the driver asks the shared object for. Shared memory is of the whole object, one group at a time.
const char* const kEnd = R"(
extern "C" {
MadeUpPlace threadIdx, blockIdx, blockDim, gridDim;
void (*made_up_barrier)(int);
extern char __start_made_up_shared[] __attribute__((weak));
extern char __stop_made_up_shared[] __attribute__((weak));
extern char* const made_up_shared_begin;
extern char* const made_up_shared_end;
char* const made_up_shared_begin = __start_made_up_shared;
char* const made_up_shared_end = __stop_made_up_shared;
}
namespace made_up_kernel {
struct Parameter { char kind; unsigned bytes; };
struct Entry {
  const char* name;
  int most_items, parameter_count;
  const Parameter* parameters;
  void (*run)(void**);
};
template <class T> constexpr Parameter parameter_of(T*) { return {'v', sizeof(T)}; }
template <class T> constexpr Parameter parameter_of(T**) { return {'p', sizeof(T*)}; }
template <class Kernel> struct Of;
template <class... Values> struct Of<void(Values...)> {
  static constexpr int kCount = sizeof...(Values);
  static constexpr Parameter kParameters[kCount + 1] = {parameter_of(static_cast<Values*>(nullptr))..., {}};
  template <void (*kernel)(Values...), std::size_t... places>
  static void call(void** values, std::index_sequence<places...>) { kernel(*static_cast<Values*>(values[places])...); }
  template <void (*kernel)(Values...)>
  static void run(void** values) { call<kernel>(values, std::index_sequence_for<Values...>()); }
};
template <class Kernel, Kernel* kernel> constexpr Entry entry(const char* name, int most_items) {
  using Own = Of<Kernel>;
  return {name, most_items, Own::kCount, Own::kParameters, &Own::template run<kernel>};
}
}
)";

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "made-up-nvrtc-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the compiler in " + pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// g++ with these words, or the compiler that MADE_UP_COMPILER names. Throws DoesNotCompile.
void run_compiler(const std::vector<std::string>& words, const fs::path& messages) {
  const char* named = std::getenv("MADE_UP_COMPILER");
  std::string compiler = named != nullptr ? named : "g++";
  std::vector<char*> arguments = {compiler.data()};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int code = posix_spawnp(&child, compiler.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw DoesNotCompile("the made-up NVRTC needs " + compiler + ", which can't be started");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw DoesNotCompile(content(messages));
}

/// Past what is in brackets, of which the first one is at `at`.
std::size_t past_brackets(const std::string& text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0) return at + 1;
  }
  return text.size();
}

/// Entries of the kernels in a text without macros: `__global__ void __launch_bounds__(items) name(`.
std::string table_of_kernels(const std::string& text) {
  const std::string mark = "__global__", bounds = "__launch_bounds__";
  std::string table =
      "extern \"C\" {\nextern const made_up_kernel::Entry made_up_kernels[];\n"
      "const made_up_kernel::Entry made_up_kernels[] = {\n";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    at += mark.size();
    std::string items = "0";
    std::size_t bracket = text.find('(', at);
    if (const std::size_t found = text.find(bounds, at); found < bracket) {
      const std::size_t end = past_brackets(text, bracket);
      items = text.substr(bracket, end - bracket);
      bracket = text.find('(', end);
    }
    if (bracket == std::string::npos) break;
    std::size_t end = bracket;
    while (end > at && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
    std::size_t begin = end;
    while (begin > at && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_')) {
      --begin;
    }
    const std::string name = text.substr(begin, end - begin);
    table += "made_up_kernel::entry<decltype(" + name + "), &" + name + ">(\"" + name + "\", " + items + "),\n";
  }
  return table + "{}};\n}\n";
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

std::string compile(const std::string& text, const std::string& name, const std::vector<std::string>& definitions) {
  const Folder folder;
  const fs::path given = folder / "given.cpp", expanded = folder / "expanded.cpp", whole = folder / "whole.cpp",
                 object = folder / "object.so", messages = folder / "messages";
  write(given, kPrelude + ("#line 1 \"" + name + "\"\n") + text);
  std::vector<std::string> words = {"-E", "-std=c++20", "-w", given.string(), "-o", expanded.string()};
  for (const std::string& definition : definitions) words.push_back("-D" + definition);
  run_compiler(words, messages);
  const std::string plain = content(expanded);
  write(whole, kBegin + plain + kEnd + table_of_kernels(plain));
  run_compiler({"-std=c++20", "-w", "-O1", "-fPIC", "-shared", "-Wl,-Bsymbolic", whole.string(), "-o", object.string()},
               messages);
  return content(object);
}

}  // namespace made_up::cuda
