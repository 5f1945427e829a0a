// Texts: their encodings, names and units for people, patterns of paths, and tables.
#include "base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/glob.h"
#include "base/terminal_text.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "base/utf8.h"

namespace evener {
namespace {

TEST(Utf8, ValidTextStays) {
  for (const char* text : {"", "bream", "Brasse \xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\x9F"}) {
    EXPECT_EQ(to_utf8_text(text), text);
    EXPECT_EQ(from_utf8_text(text), text);
  }
}

TEST(Utf8, OtherBytesBecomeCharactersOfTheirOwn) {
  EXPECT_EQ(to_utf8_text("a\xE4z"), "a\xEF\x9F\xA4z");  // U+F7E4
  EXPECT_EQ(to_utf8_text("\x80"), "\xEF\x9E\x80");      // U+F780
}

TEST(Utf8, EveryByteComesBack) {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x41, 0x80, 0xBF, 0xC3, 0xED, 0xEF, 0xFF}) {
      bytes += {static_cast<char>(first), static_cast<char>(second), '\xA0'};
    }
  }
  bytes += "\xEF\x9F\xA4 looks escaped already, \xED\xA0\x80 is a surrogate, \xC0\xAF is too long, \xF0\x9F is cut";
  const std::string text = to_utf8_text(bytes);
  EXPECT_EQ(from_utf8_text(text), bytes);
  EXPECT_EQ(to_utf8_text(text).size() > text.size(), true);  // what was escaped is escaped again, not lost
}

TEST(Utf8, TextsOfOtherEditorsBecomeUtf8WithoutAMark) {
  const std::string plain = "n\xC3\xA9 \xE2\x82\xAC\xF0\x9F\x90\x9F\n";
  EXPECT_EQ(text_without_byte_order_mark(plain), plain);
  EXPECT_EQ(text_without_byte_order_mark("\xEF\xBB\xBF" + plain), plain);
  const std::u16string units = u"n\u00E9 \u20AC\U0001F41F\n";
  std::string little, big;
  for (const char16_t unit : units) {
    const auto high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    little += {low, high};
    big += {high, low};
  }
  EXPECT_EQ(text_without_byte_order_mark("\xFF\xFE" + little), plain);
  EXPECT_EQ(text_without_byte_order_mark("\xFE\xFF" + big), plain);
  EXPECT_EQ(text_without_byte_order_mark(little), plain) << "without a mark";
  EXPECT_EQ(text_without_byte_order_mark(big), plain);
  EXPECT_EQ(text_without_byte_order_mark(std::string("\xFF\xFE\x20\xD8\x41", 5)), "\xEF\xBF\xBD\xEF\xBF\xBD") << "cut";
  EXPECT_THROW(text_without_byte_order_mark(std::string("\xFF\xFE\0\0a\0\0\0", 8)), Error);
  for (const char* text : {"", "a"}) EXPECT_EQ(text_without_byte_order_mark(text), text);
}

TEST(Lists, AreDividedByLinesOrByZeroBytes) {
  const auto bytes = [](std::string_view text) { return std::string(text); };
  using namespace std::string_view_literals;
  using Names = std::vector<std::string>;
  const struct {
    std::string list;
    bool trims;
    Names names;
  } kLists[] = {{"a.jpg\r\n\n b c.jpg \nd.jpg", false, {"a.jpg", "", " b c.jpg ", "d.jpg"}},
                {"a.jpg\r\n\n b c.jpg \nd.jpg\n", true, {"a.jpg", "", "b c.jpg", "d.jpg"}},
                {bytes("./a.jpg\0./ b\nc.jpg\r\0"sv), true, {"./a.jpg", "./ b\nc.jpg\r"}},
                {bytes("a\0second.jpg\0third.jpg\0"sv), false, {"a", "second.jpg", "third.jpg"}},
                {bytes("\xEF\xBB\xBF"
                       "a.jpg\0b.jpg"sv),
                 true,
                 {"a.jpg", "b.jpg"}},
                {bytes("\xFF\xFE"
                       "a\0\n\0b\0"sv),
                 true,
                 {"a", "b"}},
                {"", false, {}}};
  for (const auto& [list, trims, names] : kLists) EXPECT_EQ(lines_of_list(list, trims), names) << list;
  const test::TestFolder folder;
  test::write_text(folder / "list.txt", bytes("\xFF\xFE\0\0a\0\0\0"sv));
  EXPECT_THAT(test::thrown_by([&] { read_list(folder / "list.txt", 1000); }),
              testing::AllOf(testing::HasSubstr("list.txt"), testing::HasSubstr("UTF-32")));
  test::write_text(folder / "list.txt", bytes("\xEF\xBB\xBF\n a \nb"sv));
  EXPECT_EQ(read_list(folder / "list.txt", 1000), (Names{"a", "b"}));
  std::istringstream table(
      "\xEF\xBB\xBF"
      "file,kind\na.jpg,both\n");
  EXPECT_EQ(CsvReader(table).titles(), (Names{"file", "kind"}));
}

const std::vector<std::string> kModels = {"resnet18", "resnet34", "mlp"};

TEST(NearestName, FindsTyposOfEachKind) {
  EXPECT_EQ(nearest_name("resnet43", kModels), "resnet34");   // swapped
  EXPECT_EQ(nearest_name("resnet8", kModels), "resnet18");    // left out
  EXPECT_EQ(nearest_name("resnett18", kModels), "resnet18");  // doubled
  EXPECT_EQ(nearest_name("resmet34", kModels), "resnet34");   // replaced
  EXPECT_EQ(nearest_name("ResNet18", kModels), "resnet18");   // case
  EXPECT_EQ(nearest_name("mpl", kModels), "mlp");
  EXPECT_EQ(nearest_name("--epoch", {"--port", "--epochs"}), "--epochs");
  EXPECT_EQ(nearest_name("-epochs", {"--epochs"}), "--epochs");
}

TEST(NearestName, OffersNothingThatIsFarAway) {
  EXPECT_EQ(nearest_name("vgg", kModels), "");
  EXPECT_EQ(nearest_name("", kModels), "");
  EXPECT_EQ(nearest_name("x", {"a"}), "");  // one letter replaced by another is not a typo
  EXPECT_EQ(nearest_name(std::string(100000, 'r'), kModels), "");
  EXPECT_EQ(nearest_name("mlp", {}), "");
  EXPECT_EQ(nearest_name("--out", {"--port", "--html", "--cut"}), "");
}

TEST(UnknownNameMessage, NamesTheNearestAndTheKnown) {
  EXPECT_EQ(unknown_name_message("model", "resnet43", kModels),
            "unknown model 'resnet43'; did you mean 'resnet34'? Known: resnet18, resnet34, mlp");
  EXPECT_EQ(unknown_name_message("model", "vgg", kModels), "unknown model 'vgg'. Known: resnet18, resnet34, mlp");
}

TEST(NameIn, IsThatOfTheValueAndNoneOfOtherNumbers) {
  enum class Pet { kCat, kDog, kOwl };
  constexpr const char* kPets[] = {"cat", "dog", "owl"};
  EXPECT_STREQ(name_in(kPets, Pet::kDog), "dog");
  EXPECT_STREQ(name_in(kPets, Pet::kOwl), "owl");
  for (const int wrong : {3, -1}) EXPECT_STREQ(name_in(kPets, static_cast<Pet>(wrong)), "?");
  EXPECT_EQ(value_named<Pet>(kPets, "pet", "owl"), Pet::kOwl);
  EXPECT_THROW(value_named<Pet>(kPets, "pet", "cow"), UsageError);
}

TEST(Units, HaveThreeSignificantDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1500), "1.5 kB");
  EXPECT_EQ(bytes_text(85'300'000), "85.3 MB");
  EXPECT_EQ(bytes_text(999'999), "1 MB");  // rounding up changes the prefix
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
  EXPECT_EQ(si_text(3.6e9, "FLOP"), "3.6 GFLOP");
  EXPECT_EQ(si_text(21.3e6), "21.3 M");
  EXPECT_EQ(si_text(-1234), "-1.23 k");
  EXPECT_EQ(si_text(99.96), "100");
  EXPECT_EQ(si_text(99.94), "99.9");
  EXPECT_EQ(si_text(9.996), "10");
  EXPECT_EQ(si_text(9.994), "9.99");
  EXPECT_EQ(bytes_text(999'499), "999 kB");
  EXPECT_EQ(bytes_text(999'500), "1 MB");
  EXPECT_EQ(si_text(-std::numeric_limits<double>::infinity(), "B"), "-inf B");
  EXPECT_EQ(si_text(std::numeric_limits<double>::quiet_NaN(), "B"), "nan B");
}

TEST(Printable, DropsWhatATerminalWouldObeyAndCuts) {
  EXPECT_EQ(printable("layer1.0.conv1 \u00e9"), "layer1.0.conv1 \u00e9");
  EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a?[31m??");
  EXPECT_EQ(printable(std::string(101, 'x')), std::string(100, 'x') + "...");
}

TEST(TerminalTexts, HaveNoControlsButLineBreaksAndTabs) {
  EXPECT_EQ(terminal_text("a\tb\n\x1b[1mc\r"), "a\tb\n?[1mc?");
  EXPECT_EQ(one_line("a\tb\nc"), "a?b?c");
  EXPECT_EQ(terminal_text("\xc2\x9b[\xc2\x80\xc2\x9f"), "?[??") << "controls of two bytes";
  EXPECT_EQ(terminal_text("\xc2\xa0\xc3\x9b\xc2"), "\xc2\xa0\xc3\x9b\xc2") << "letters like them";
}

TEST(ShellWords, AreQuotedWhereAShellWouldTakeThemApart) {
  EXPECT_EQ(shell_word("runs/a-1_b.c=d"), "runs/a-1_b.c=d");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's 'so"), R"('it'\''s '\''so')");
  for (const char special : std::string("\"$&;()<>|*?[]#~`\\!")) {
    const std::string word = std::string("a") + special + "b";
    EXPECT_EQ(shell_word(word), "'" + word + "'");
  }
}

TEST(DurationText, ChoosesTheUnit) {
  EXPECT_EQ(duration_text(0.85), "850 ms");
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(245), "4 min 05 s");
  EXPECT_EQ(duration_text(7800), "2 h 10 min");
  EXPECT_EQ(duration_text(59.97), "1 min 00 s");
  EXPECT_EQ(duration_text(3599.7), "1 h 00 min");
  EXPECT_EQ(duration_text(25e-6), "25 us");
  EXPECT_EQ(duration_text(999.4e-6), "999 us");
  EXPECT_EQ(duration_text(999.6e-6), "1 ms");
  EXPECT_EQ(duration_text(0.9994), "999 ms");
  EXPECT_EQ(duration_text(0.9996), "1.0 s");
  EXPECT_EQ(duration_text(59.94), "59.9 s");
  EXPECT_EQ(duration_text(-12.34), "-12.3 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

struct Row {
  const char *pattern, *path;
  bool matches;
};

void expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(glob_matches(row.pattern, row.path), row.matches) << "'" << row.pattern << "' and '" << row.path << "'";
  }
}

TEST(Glob, StarsStayWithinAFolderAndDoubleStarsDont) {
  expect({{"*.png", "a.png", true},
          {"*.png", "x/a.png", false},
          {"**.png", "x/y/a.png", true},
          {"Bream GT/**", "Bream GT/1.png", true},
          {"Bream GT/**", "Bream GT/deep/1.png", true},
          {"Bream GT/**", "Bream/1.png", false},
          {"Bream/**", "Bream GT/1.png", false},
          {"Bream", "Bream/1.png", false}});
}

TEST(Glob, FoldersInTheMiddleMayBeMissing) {
  expect({{"a/**/b.png", "a/b.png", true},
          {"a/**/b.png", "a/x/y/b.png", true},
          {"a/**/b.png", "a/xb.png", false},
          {"**/GT/*", "GT/1", true},
          {"**/GT/*", "x/y/GT/1", true},
          {"**/GT/*", "x/noGT/1", false}});
}

TEST(Glob, TakesSingleCharactersAndSets) {
  expect({{"cat_?.jpg", "cat_1.jpg", true},
          {"cat_?.jpg", "cat_12.jpg", false},
          {"a?b", "a/b", false},
          {"[a-c]x", "bx", true},
          {"[!a-c]x", "bx", false},
          {"[]-]", "]", true},
          {"a[!x]b", "a/b", false},
          {"a[b", "a[b", true},
          {"[a-]x", "-x", true},
          {"[a-]x", "bx", false},
          {"[!]]x", "]x", false},
          {"[!]]x", "ax", true},
          {"a[0-9][!0-9]", "a1b", true},
          {"a[0-9][!0-9]", "a12", false},
          {"", "", true},
          {"", "a", false}});
}

TEST(Glob, ManyStarsDontTakeForever) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(200, 'a')));
}

using testing::ElementsAre;

TEST(Csv, CellsComeBackAsTheyWere) {
  const std::vector<std::string> cells = {"a", "", "b,c", "say \"so\"", "\"", " x "};
  const std::string line = csv_line(cells);
  EXPECT_EQ(line, "a,,\"b,c\",\"say \"\"so\"\"\",\"\"\"\", x \n");
  EXPECT_EQ(csv_cells(line.substr(0, line.size() - 1)), cells);
  EXPECT_EQ(csv_cell("\xff"), "\xef\x9f\xbf") << "what is no UTF-8 becomes it";
}

TEST(Csv, SeparatorsAreThoseThatAreAskedFor) {
  EXPECT_THAT(csv_cells("a;b,c\td\r", ",;\t"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(csv_cells("a;b,c"), ElementsAre("a;b", "c"));
  EXPECT_THAT(csv_cells("\"a,\"\"b\"", ""), ElementsAre("a,\"b"));
  EXPECT_THAT(csv_cells(""), ElementsAre(""));
}

TEST(Csv, ReaderFindsColumnsAndCountsLines) {
  std::istringstream text("time,\"a,b\"\r\n\n1,2\r\n3\n");
  CsvReader table(text);
  EXPECT_THAT(table.titles(), ElementsAre("time", "a,b"));
  EXPECT_EQ(table.find_column("a,b"), 1U);
  EXPECT_EQ(table.find_column("none"), std::nullopt);
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.line(), 3U);
  EXPECT_THAT(table.cells(), ElementsAre("1", "2"));
  ASSERT_TRUE(table.next());
  EXPECT_THAT(table.cells(), ElementsAre("3")) << "no cells of the longer row before";
  EXPECT_EQ(table.cell(1), "");
  EXPECT_FALSE(table.next());
}

TEST(Csv, WriterReplacesAndSaysWhereItCant) {
  const test::TestFolder folder;
  const auto path = folder.path() / "t.csv";
  write_file_atomically(path, "something else, and longer\n");
  CsvWriter table(path, "a,b");
  table.add("1,2\n");
  EXPECT_EQ(read_file(path), "a,b\n1,2\n");
  EXPECT_THROW(CsvWriter(folder.path() / "none/t.csv", "a"), OutputError);
}

TEST(Base64, GoesThereAndBack) {
  for (const std::string bytes : {"", "M", "Ma", "Man", "\xff\xef"}) EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  EXPECT_EQ(to_base64("Ma"), "TWE=");
  EXPECT_EQ(from_base64("TWE"), "Ma");
  for (const char* wrong : {"TWE!", "T", "TW F"}) EXPECT_FALSE(from_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace evener
