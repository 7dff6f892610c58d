process HAPGPU_HAPLOTYPES {
    tag "$meta.id"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(sites)
    tuple val(meta2), path(fasta), path(fai)

    output:
    tuple val(meta), path("*.haplotypes.fa"), emit: fasta
    tuple val(meta), path("*.json")         , emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    hapgpu haplotypes \\
        ${args} \\
        --json ${prefix}.haplotypes.json \\
        -o ${prefix}.haplotypes.fa \\
        ${fasta} \\
        ${sites}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo ${args}
    touch ${prefix}.haplotypes.fa
    touch ${prefix}.haplotypes.json
    """
}
