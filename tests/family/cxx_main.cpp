// The checks of C++ in an ordinary C++ program.
extern "C" int cxx_checks(void);

int main()
{
    return cxx_checks();
}
