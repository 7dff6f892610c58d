process HAPGPU_REPORT {
    tag "$meta.id"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(files)
    tuple val(meta2), path(reads), path(index)
    tuple val(meta3), path(fasta), path(fai)

    output:
    tuple val(meta), path("*.html")       , emit: html
    tuple val(meta), path("*.report.json"), emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def reads_of_sites = reads ? [reads].flatten().collect { file -> "--reads ${file}" }.join(' ') : ""
    def reference = fasta ? "--reference ${fasta}" : ""
    """
    hapgpu report \\
        --threads ${task.cpus} \\
        ${reads_of_sites} \\
        ${reference} \\
        ${args} \\
        --json ${prefix}.report.json \\
        -o ${prefix}.html \\
        ${files}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo ${args}
    touch ${prefix}.html
    touch ${prefix}.report.json
    """
}
