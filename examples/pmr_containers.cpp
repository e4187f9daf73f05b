// Containers of std::pmr that live in an epoch: an index of a document is built, asked, and dropped as a whole. What is
// to stay is copied out.
//
// It is linked with libtslab, and malloc stays the system's: only the containers know of the epoch. It checks itself,
// and exits with 1 when something is not as it says.
#include <tslab/tslab.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace
{

constexpr unsigned document_count = 200, words_per_document = 5000;

void expect(bool condition, const char *what)
{
    if (!condition) {
        std::fprintf(stderr, "pmr_containers: not so: %s\n", what);
        std::exit(1);
    }
}

// A document of words that are long enough not to fit into a string object itself. The later a document, the more of
// its words are number 3.
std::string make_document(unsigned number)
{
    std::string text;
    for (unsigned i = 0; i < words_per_document; i++) {
        unsigned word = i % document_count < number ? 3 : i % 97;
        text += "a-rather-long-word-with-number-" + std::to_string(word) + " ";
    }
    return text;
}

// Where each word stands in the document.
using Index = std::pmr::unordered_map<std::pmr::string, std::pmr::vector<unsigned>>;

void fill(Index &index, std::string_view text)
{
    unsigned position = 0;
    for (std::size_t begin = 0; begin < text.size(); position++) {
        std::size_t end = std::min(text.find(' ', begin), text.size());
        // The key and the vector get the resource of the map: that is what std::pmr is for.
        index[std::pmr::string(text.substr(begin, end - begin), index.get_allocator())].push_back(position);
        begin = end + 1;
    }
}

const Index::value_type &most_frequent(const Index &index)
{
    return *std::max_element(index.begin(), index.end(),
                             [](const auto &a, const auto &b) { return a.second.size() < b.second.size(); });
}

// The containers are destroyed as always, and free all that they hold; then the epoch closes, with nothing in it.
std::string index_and_destroy(const std::string &text)
{
    tslab::epoch epoch("document");
    std::string answer;
    {
        tslab::memory_resource resource(epoch);
        Index index(&resource);
        fill(index, text);
        const auto &[word, positions] = most_frequent(index);
        expect(tslab_epoch_of(word.data()).id == epoch.get().id, "a key lives in the epoch");
        expect(tslab_epoch_of(positions.data()).id == epoch.get().id, "a vector lives in the epoch");
        answer = word; // This copies the characters: the string is of the process, and stays valid.
    }
    expect(epoch.close().survivors == 0, "destroyed containers leave nothing behind");
    return answer;
}

// The containers are not destroyed at all: the map itself lies in the epoch, too, and all of it is dead when the epoch
// closes. That is right because its elements own nothing but memory of the same epoch.
std::string index_and_drop(const std::string &text, std::uint64_t &dropped)
{
    tslab::epoch epoch("document", TSLAB_POLICY_RELEASE);
    tslab::memory_resource resource(epoch);
    std::pmr::polymorphic_allocator<Index> allocator(&resource);
    Index *index = allocator.allocate(1);
    allocator.construct(index);
    fill(*index, text);
    std::string answer(most_frequent(*index).first);
    dropped += epoch.close().survivors;
    return answer;
}

} // namespace

int main()
{
    std::map<std::string, unsigned> destroyed_answers, dropped_answers;
    std::uint64_t dropped = 0;
    for (unsigned number = 0; number < document_count; number++) {
        std::string text = make_document(number);
        destroyed_answers[index_and_destroy(text)]++;
        dropped_answers[index_and_drop(text, dropped)]++;
    }
    expect(destroyed_answers == dropped_answers, "both ways find the same");
    expect(dropped > document_count, "the second way left the objects to the epoch");
    for (const auto &[word, count] : destroyed_answers) {
        std::printf("%s is the most frequent word of %u documents\n", word.c_str(), count);
    }
    std::printf("%llu objects ended with their epochs, without a destructor or a free\n",
                static_cast<unsigned long long>(dropped));
    return 0;
}
